/**
 * An agent as one YAML file: its profile, its draft, its tools and knowledge, and the names of its tool
 * servers, by name instead of by id (docs/operations.md). A file never contains a secret: it says
 * `has_secret`, or names an environment variable as `${NAME}`.
 */
import { createTwoFilesPatch } from 'diff';
import { CST, isNode, isScalar, Lexer, LineCounter, parseDocument, stringify, visit } from 'yaml';
import { z } from 'zod';
import { isOtherHost } from '#config/credential-host.ts';
import { httpAddress } from '#config/custom-speech.ts';
import { bearerValue } from '#protocol/bearer-value.ts';
import { CommandError } from './api.ts';

const header = z.looseObject({
  name: z.string(),
  kind: z.string().optional(),
  value: z.string().nullable().optional(),
  has_secret: z.boolean().optional(),
});
const endpoint = z.looseObject({
  url: z.string(),
  secret: z.string().optional(),
  has_secret: z.boolean().optional(),
});

const speechServer = z.looseObject({
  url: z.string().optional(),
  api_key: z.string().optional(),
  has_secret: z.boolean().optional(),
});

/** The structure of a file; the API checks the values of its fields. */
const agentFile = z.strictObject({
  parley: z.literal(1, 'must be 1, the version of this format'),
  agent: z.looseObject({ name: z.string().min(1) }),
  config: z
    .looseObject({
      tools: z.looseObject({ tools: z.array(z.string()).optional() }).optional(),
      knowledge_base: z.looseObject({ sources: z.array(z.string()).optional() }).optional(),
      tool_servers: z.strictObject({ servers: z.array(z.string()) }).optional(),
      answer_hints: z.looseObject({ enabled: z.boolean() }).nullable().optional(),
      press_keys: z.looseObject({ enabled: z.boolean() }).nullable().optional(),
      automated_lines: z.looseObject({ enabled: z.boolean().optional() }).nullable().optional(),
      webhooks: z
        .looseObject({
          conversation_init: endpoint.nullable().optional(),
          post_call: z.array(endpoint).optional(),
        })
        .optional(),
      llm: z
        .looseObject({
          custom: z
            .looseObject({ api_key: z.string().optional(), has_secret: z.boolean().optional() })
            .nullable()
            .optional(),
        })
        .optional(),
      custom_speech: z
        .looseObject({ asr: speechServer.nullable().optional(), tts: speechServer.nullable().optional() })
        .nullable()
        .optional(),
    })
    .default({}),
  tools: z.array(z.looseObject({ name: z.string(), headers: z.array(header).optional() })).default([]),
  knowledge: z
    .array(
      z.strictObject({
        name: z.string(),
        description: z.string().default(''),
        file_name: z.string().default('knowledge.md'),
        content: z.string(),
      }),
    )
    .default([]),
});
export type AgentFile = z.output<typeof agentFile>;

/**
 * The stored state in the form of a file; the agent may not exist yet although tools and knowledge of the
 * file do.
 */
export type StoredFile = Omit<AgentFile, 'agent' | 'config'> & Partial<Pick<AgentFile, 'agent' | 'config'>>;

/** Parses a file's text. Throws `CommandError` that names the problem. */
export function parseAgentFile(text: string, name: string): AgentFile {
  const content = readYaml(text, name);
  const parsed = agentFile.safeParse(content);
  if (!parsed.success) throw new CommandError(`${name}: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** Maximum aliases in a file; each is expanded where it is used. */
const MAX_ALIASES = 100;
/** Maximum nesting of lists and maps; the parser gets slower with every level. */
const MAX_LEVELS = 100;

/** Files may be untrusted, so parsing takes time and memory linear in their length. */
function readYaml(text: string, name: string): unknown {
  if (isTooDeep(text)) throw new CommandError(`${name}: more than ${MAX_LEVELS} nested lists or maps`);
  const lines = new LineCounter();
  // The parser's own check for duplicate keys compares each with all others.
  const document = parseDocument(text, { uniqueKeys: false, lineCounter: lines });
  const [wrong] = document.errors;
  if (wrong) throw new CommandError(`${name}: ${wrong.message}`);
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<string>();
      for (const { key } of items) {
        const known = isScalar(key) ? String(key.value) : '';
        const at = isNode(key) ? ` at line ${lines.linePos(key.range?.[0] ?? 0).line}` : '';
        if (known === '__proto__') throw new CommandError(`${name}: no key may be called __proto__${at}`);
        if (seen.has(known)) throw new CommandError(`${name}: Map keys must be unique${at}: ${known}`);
        seen.add(known);
      }
    },
  });
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw new CommandError(
      error instanceof ReferenceError
        ? `${name}: more than ${MAX_ALIASES} aliases: write out their values instead`
        : `${name}: ${(error as Error).message}`,
    );
  }
}

/**
 * Levels within a line. Levels with lines of their own are indented, so their text grows with the square of
 * the depth.
 */
function isTooDeep(text: string): boolean {
  let [flow, line] = [0, 0];
  for (const source of new Lexer().lex(text)) {
    const type = CST.tokenType(source);
    if (type === 'flow-map-start' || type === 'flow-seq-start') flow += 1;
    // The lexer also reports an end without a matching start.
    else if (type === 'flow-map-end' || type === 'flow-seq-end') flow = Math.max(0, flow - 1);
    else if (type === 'seq-item-ind' || type === 'explicit-key-ind') line += 1;
    else if (type === 'newline') line = 0;
    if (flow > MAX_LEVELS || line > MAX_LEVELS) return true;
  }
  return false;
}

/** Formats a file. */
export function agentFileText(file: StoredFile): string {
  return stringify(file, { lineWidth: 0 });
}

/** Returns the lines that would change as a unified diff; empty if there are none. */
export function diffOf(stored: StoredFile, wanted: AgentFile): string {
  const [before, after] = [agentFileText(stored), agentFileText(wanted)];
  if (before === after) return '';
  const patch = createTwoFilesPatch('stored', 'file', before, after, '', '', {
    context: 2,
    headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true },
  });
  return patch.trimEnd();
}

const PLACEHOLDER = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

/** Passes each possible secret of a file to `visit`, with its description and the address it is for. */
type Visit = (
  holder: Record<string, unknown>,
  field: 'secret' | 'api_key' | 'value',
  description: string,
  address: string,
) => void;

function eachSecret(file: StoredFile, visit: Visit): void {
  const { webhooks, llm, custom_speech: speech } = file.config ?? {};
  if (webhooks?.conversation_init)
    visit(
      webhooks.conversation_init,
      'secret',
      `webhooks.conversation_init ${webhooks.conversation_init.url}`,
      webhooks.conversation_init.url,
    );
  for (const entry of webhooks?.post_call ?? [])
    visit(entry, 'secret', `webhooks.post_call ${entry.url}`, entry.url);
  if (llm?.custom) visit(llm.custom, 'api_key', 'llm.custom', String(llm.custom['base_url'] ?? ''));
  eachSpeechKey(speech, visit);
  for (const tool of file.tools) {
    for (const entry of tool.headers ?? [])
      if (isSecretHeader(entry))
        visit(entry, 'value', `tool ${tool.name}, header ${entry.name}`, String(tool['url'] ?? ''));
  }
}

function eachSpeechKey(speech: AgentFile['config']['custom_speech'], visit: Visit): void {
  for (const part of ['asr', 'tts'] as const) {
    const server = speech?.[part];
    if (server) visit(server, 'api_key', `custom_speech.${part}`, httpAddress(server.url ?? ''));
  }
}

/** Whether the API never returns the value of a header. */
export function isSecretHeader(entry: z.output<typeof header>): boolean {
  return entry.kind !== undefined && entry.kind !== 'custom';
}

/**
 * Fills the `${NAME}` secrets of a file, and adds a missing `Bearer ` to those of bearer headers, which
 * `note` reports. Throws `CommandError` for one that is not set, or that is written in the file itself.
 */
export function fillSecrets(
  file: AgentFile,
  environment: NodeJS.ProcessEnv,
  note: (line: string) => void,
): AgentFile {
  const filled = structuredClone(file);
  eachSecret(filled, (holder, field, description) => {
    const written = holder[field];
    if (written === undefined || written === null) {
      delete holder[field];
      return;
    }
    const name = PLACEHOLDER.exec(String(written))?.[1];
    if (name === undefined)
      throw new CommandError(
        `${description}: a file must not contain a secret: write ${field}: \${NAME} and set NAME in the ` +
          'environment',
      );
    const value = environment[name];
    if (value === undefined || value === '')
      throw new CommandError(`${description}: set ${name} in the environment`);
    holder[field] = holder['kind'] === 'authorization_bearer' ? bearerValue(value) : value;
    if (holder[field] !== value) note(`${description}: ${name} has no "Bearer ", which was added`);
  });
  return filled;
}

/**
 * The result of applying a file to the stored state: omitted fields stay; lists are replaced, but entries
 * with the same name keep what the file omits; tools and knowledge merge by name; secrets the file does not
 * mention stay. `wanted` contains no secrets, so that it can be shown and compared; `missing` lists secrets
 * that the file refers to and that are not stored, or are stored for another host than the file's.
 */
export function overlay(
  stored: StoredFile,
  filled: AgentFile,
): { readonly full: AgentFile; readonly wanted: AgentFile; readonly missing: readonly string[] } {
  const full: AgentFile = {
    parley: 1,
    agent: merge(stored.agent, filled.agent) as AgentFile['agent'],
    config: withoutAbsent(merge(stored.config, filled.config) as AgentFile['config'], stored.config),
    tools: byName(stored.tools, filled.tools),
    knowledge: byName(stored.knowledge, filled.knowledge),
  };
  const kept = secretsOf(stored);
  const wanted = structuredClone(full);
  const missing: string[] = [];
  eachSecret(wanted, (holder, field, description, address) => {
    const isGiven = typeof holder[field] === 'string';
    const before = kept.get(description);
    // A secret for one host is not sent to another: the API deletes it.
    const isKept = before !== undefined && !isOtherHost(before, address);
    if (holder['has_secret'] === true && !isGiven && !isKept) missing.push(description);
    delete holder[field];
    delete holder['has_secret'];
    if (isGiven || isKept) holder['has_secret'] = true;
  });
  return { full, wanted, missing };
}

/**
 * An empty list of tool servers, or hints, keys or automated lines that are off, which the API does not show,
 * are no change to an agent without them.
 */
function withoutAbsent(config: AgentFile['config'], stored: StoredFile['config']): AgentFile['config'] {
  const shown = { ...config };
  if (!stored?.tool_servers && shown.tool_servers?.servers.length === 0) delete shown.tool_servers;
  if (!stored?.answer_hints && !shown.answer_hints?.enabled) delete shown.answer_hints;
  if (!stored?.press_keys && !shown.press_keys?.enabled) delete shown.press_keys;
  const { automated_lines: lines } = shown;
  if (!stored?.automated_lines && (lines === null || lines?.enabled === false)) delete shown.automated_lines;
  return shown;
}

/** The stored secret, with its address. */
function secretsOf(stored: StoredFile): ReadonlyMap<string, string> {
  const addresses = new Map<string, string>();
  eachSecret(structuredClone(stored), (holder, _field, description, address) => {
    if (holder['has_secret'] === true) addresses.set(description, address);
  });
  return addresses;
}

function byName<Entry extends { name: string }>(stored: readonly Entry[], given: readonly Entry[]): Entry[] {
  const isGiven = new Set(given.map(({ name }) => name));
  return [
    ...mergeList(
      stored,
      stored.map((entry) =>
        isGiven.has(entry.name) ? given.find(({ name }) => name === entry.name) : entry,
      ),
    ),
    ...structuredClone(given.filter(({ name }) => !stored.some((entry) => entry.name === name))),
  ] as Entry[];
}

/** Fields that are single values although they look like sections. */
const WHOLE = new Set(['defaults', 'when']);

function merge(stored: unknown, given: unknown, field = ''): unknown {
  if (given === undefined) return structuredClone(stored);
  if (Array.isArray(stored) && Array.isArray(given)) return mergeList(stored, given);
  if (!isObject(stored) || !isObject(given) || WHOLE.has(field)) return structuredClone(given);
  const names = [...new Set([...Object.keys(stored), ...Object.keys(given)])];
  return Object.fromEntries(names.map((name) => [name, merge(stored[name], given[name], name)]));
}

function mergeList(stored: readonly unknown[], given: readonly unknown[]): unknown[] {
  return given.map((entry) => {
    const twin = isObject(entry)
      ? stored.find((other) => isObject(other) && identityOf(other) === identityOf(entry))
      : undefined;
    return merge(twin, entry);
  });
}

/**
 * What identifies an entry of a list: names of tools, arguments, headers and fields, URLs of endpoints, keys
 * of menus, labels of destinations.
 */
function identityOf(entry: Record<string, unknown>): string {
  const field = ['name', 'url', 'key', 'label'].find((name) => entry[name] !== undefined) ?? '';
  return `${field}:${String(entry[field])}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

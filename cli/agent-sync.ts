/** Agents between the API and files: reads an agent as a file, and updates the stored one from a file. */
import { type AgentFile, isSecretHeader, type StoredFile } from './agent-file.ts';
import { type Api, CommandError, type Json } from './api.ts';

const PROFILE = [
  'name',
  'description',
  'status',
  'public_enabled',
  'allowed_origins',
  'overrides_allowed',
] as const;
const TOOL = [
  ...[
    'name',
    'description',
    'tool_type',
    'method',
    'url',
    'content_type',
    'timeout_seconds',
    'error_handling',
    'arguments',
    'body_template',
  ],
  ...['headers', 'mock_responses', 'expects_response', 'execution_mode'],
];
const KNOWLEDGE = ['name', 'description', 'file_name', 'content'];

/** A draft with its tools, knowledge and tool servers, and the id of each name. */
export interface StoredAgent {
  /** Null if there is no such agent. */
  readonly agentId: string | null;
  readonly file: StoredFile;
  readonly toolIds: ReadonlyMap<string, string>;
  readonly sourceIds: ReadonlyMap<string, string>;
  readonly serverIds: ReadonlyMap<string, string>;
}

/** The agent with an id or a name. Throws `CommandError` if there is none, or several of that name. */
export async function findAgentId(api: Api, idOrName: string): Promise<string> {
  const found = await findAgentsByName(api, idOrName);
  const [only] = found;
  if (only === undefined)
    throw new CommandError(`no agent has the id or name “${idOrName}”: see \`parley agents list\``);
  if (found.length > 1)
    throw new CommandError(
      `${found.length} agents are named “${idOrName}”: use the id of one (${found.join(', ')})`,
    );
  return only;
}

async function findAgentsByName(api: Api, idOrName: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const agent of api.list('/v1/agent/agents?include_archived=true', 'agents')) {
    if (agent.agent_id === idOrName) return [idOrName];
    if (agent.name === idOrName) ids.push(agent.agent_id);
  }
  return ids;
}

/** Reads an agent with everything it uses. */
export async function readAgent(api: Api, agentId: string): Promise<AgentFile> {
  return (await readStored(api, { agentId, tools: [], knowledge: [], servers: [] })).file as AgentFile;
}

/**
 * Reads the state that an import would change: the agent with the file's name or `idOrName`, and the tools
 * and knowledge named in the file.
 */
export async function readTarget(api: Api, file: AgentFile, idOrName?: string): Promise<StoredAgent> {
  const wanted = {
    tools: [...file.tools.map(({ name }) => name), ...(file.config.tools?.tools ?? [])],
    knowledge: [...file.knowledge.map(({ name }) => name), ...(file.config.knowledge_base?.sources ?? [])],
    servers: file.config.tool_servers?.servers ?? [],
  };
  const isNew = idOrName === undefined && (await findAgentsByName(api, file.agent.name)).length === 0;
  return readStored(api, {
    agentId: isNew ? null : await findAgentId(api, idOrName ?? file.agent.name),
    ...wanted,
  });
}

async function readStored(
  api: Api,
  wanted: {
    readonly agentId: string | null;
    readonly tools: readonly string[];
    readonly knowledge: readonly string[];
    readonly servers: readonly string[];
  },
): Promise<StoredAgent> {
  const { agentId } = wanted;
  const [agent, stored] = agentId
    ? await Promise.all([
        api.get(`/v1/agent/agents/${agentId}`),
        api.get(`/v1/agent/agents/${agentId}/config`),
      ])
    : [null, null];
  const { agent_id: _id, config_hash: _hash, updated_at: _at, tool_servers, ...config } = stored ?? {};
  const tools = await readNamed(
    api,
    { path: '/v1/agent/tools', rows: 'tools', idField: 'tool_id', fields: TOOL },
    config.tools?.tool_ids ?? [],
    wanted.tools,
  );
  const knowledge = await readNamed(
    api,
    {
      path: '/v1/agent/knowledge-sources',
      rows: 'knowledge_sources',
      idField: 'knowledge_source_id',
      fields: KNOWLEDGE,
    },
    config.knowledge_base?.knowledge_source_ids ?? [],
    wanted.knowledge,
  );
  const servers = await findServers(api, tool_servers?.tool_server_ids ?? [], wanted.servers);
  const known = { agentId, toolIds: tools.ids, sourceIds: knowledge.ids, serverIds: servers.ids };
  const used = {
    tools: tools.records.map((tool: Json) => ({ ...tool, headers: tool.headers.map(shownHeader) })),
    knowledge: knowledge.records,
  };
  if (!agent) return { ...known, file: { parley: 1, ...used } };
  const { tool_ids: _toolIds, ...toolSettings } = config.tools;
  const { knowledge_source_ids: _sourceIds, ...knowledgeSettings } = config.knowledge_base;
  const file: StoredFile = {
    parley: 1,
    agent: pick(agent, PROFILE) as AgentFile['agent'],
    config: {
      ...config,
      tools: { ...toolSettings, tools: tools.attached },
      knowledge_base: { ...knowledgeSettings, sources: knowledge.attached },
      ...(tool_servers ? { tool_servers: { servers: servers.attached } } : {}),
      webhooks: {
        conversation_init:
          config.webhooks.conversation_init && withoutFalse(config.webhooks.conversation_init),
        post_call: config.webhooks.post_call.map(withoutFalse),
      },
      llm: { ...config.llm, custom: config.llm.custom && withoutFalse(config.llm.custom) },
      ...(config.custom_speech ? { custom_speech: shownSpeech(config.custom_speech) } : {}),
    },
    ...used,
  };
  return { ...known, file };
}

interface Kind {
  readonly path: string;
  readonly rows: string;
  readonly idField: string;
  readonly fields: readonly string[];
}

/**
 * Reads the records with these ids and names; returns them and the id of each name. Throws `CommandError` if
 * a name is ambiguous.
 */
async function readNamed(
  api: Api,
  { path, rows, idField, fields }: Kind,
  attachedIds: readonly string[],
  names: readonly string[],
) {
  const { ids, attached } = await findNamed(api, { path, rows, idField }, attachedIds, names);
  // Attached objects in the agent's order, then those that only the file defines.
  const ordered = [...new Set([...attached, ...ids.keys()])];
  const records = await Promise.all(
    ordered.map(async (name) => pick(await api.get(`${path}/${ids.get(name)}`), fields) as Json),
  );
  return { ids, attached, records };
}

/** The tool servers with these ids and names. They belong to a deployment: a file has their names only. */
async function findServers(api: Api, attachedIds: readonly string[], names: readonly string[]) {
  if (attachedIds.length === 0 && names.length === 0) return { ids: new Map<string, string>(), attached: [] };
  const servers = { path: '/v1/agent/tool-servers', rows: 'tool_servers', idField: 'tool_server_id' };
  return findNamed(api, servers, attachedIds, names);
}

/** The ids of these names, and the names of these ids. Throws `CommandError` if a name is ambiguous. */
async function findNamed(
  api: Api,
  { path, rows, idField }: Omit<Kind, 'fields'>,
  attachedIds: readonly string[],
  names: readonly string[],
) {
  const ids = new Map<string, string>();
  const nameOf = new Map<string, string>();
  for await (const row of api.list(path, rows)) {
    const isAttached = attachedIds.includes(row[idField]);
    if (isAttached) nameOf.set(row[idField], row.name);
    if (!isAttached && !names.includes(row.name)) continue;
    if (ids.has(row.name))
      throw new CommandError(
        `${path}: several are named “${row.name}”: rename one, since a file identifies them by name`,
      );
    ids.set(row.name, row[idField]);
  }
  return { ids, attached: attachedIds.flatMap((id) => nameOf.get(id) ?? []) };
}

/**
 * Updates the stored state to `full`, whose comparable form is `wanted`; sends only differences and secrets.
 * Returns the agent's id.
 */
export async function applyFile(
  api: Api,
  stored: StoredAgent,
  { full, wanted }: { readonly full: AgentFile; readonly wanted: AgentFile },
): Promise<string> {
  // Before anything changes: no import creates a tool server.
  full.config.tool_servers?.servers.forEach(serverId(stored.serverIds));
  const sourceIds = new Map(stored.sourceIds);
  for (const source of full.knowledge) {
    const before = stored.file.knowledge.find(({ name }) => name === source.name);
    if (!isSame(before, source))
      sourceIds.set(source.name, await sendSource(api, source, sourceIds.get(source.name)));
  }
  const toolIds = new Map(stored.toolIds);
  for (const tool of full.tools) {
    const before = stored.file.tools.find(({ name }) => name === tool.name);
    const after = wanted.tools.find(({ name }) => name === tool.name);
    if (namesSecret(tool) || !isSame(before, after)) {
      const keepsHeaders = !namesSecret(tool) && isSame(before?.headers, after?.headers);
      toolIds.set(tool.name, await sendTool(api, tool, { id: toolIds.get(tool.name), keepsHeaders }));
    }
  }
  const { name, description } = full.agent;
  const agentId =
    stored.agentId ??
    (await api.post('/v1/agent/agents', { name, ...(description === undefined ? {} : { description }) }))
      .agent_id;
  if (!isSame(stored.file.agent, wanted.agent)) await api.patch(`/v1/agent/agents/${agentId}`, full.agent);
  if (!isSame(withoutSecrets(full.config), full.config) || !isSame(stored.file.config, wanted.config)) {
    await api.patch(
      `/v1/agent/agents/${agentId}/config`,
      configPatch(full.config, { ...stored, toolIds, sourceIds }),
    );
  }
  return agentId;
}

async function sendSource(
  api: Api,
  { name, description, file_name, content }: AgentFile['knowledge'][number],
  id: string | undefined,
): Promise<string> {
  const form = new FormData();
  form.set('source', new File([content], file_name, { type: 'text/plain' }));
  form.set('name', name);
  form.set('description', description);
  const path = '/v1/agent/knowledge-sources';
  return (await (id ? api.form('PATCH', `${path}/${id}`, form) : api.form('POST', path, form)))
    .knowledge_source_id;
}

async function sendTool(
  api: Api,
  tool: AgentFile['tools'][number],
  stored: { readonly id: string | undefined; readonly keepsHeaders: boolean },
): Promise<string> {
  const { headers, tool_type, ...rest } = tool;
  if (stored.keepsHeaders && stored.id) {
    await api.patch(`/v1/agent/tools/${stored.id}`, rest);
    return stored.id;
  }
  const unnamed = headers?.find((entry) => isSecretHeader(entry) && typeof entry.value !== 'string');
  if (unnamed)
    throw new CommandError(
      `tool ${tool.name}: its headers are replaced as a whole: write value: \${NAME} for ${unnamed.name}, ` +
        'and set NAME in the environment',
    );
  const sent = {
    ...rest,
    ...(headers ? { headers: headers.map(({ has_secret: _has, ...entry }) => entry) } : {}),
  };
  const saved = stored.id
    ? await api.patch(`/v1/agent/tools/${stored.id}`, sent)
    : await api.post('/v1/agent/tools', { ...sent, ...(tool_type ? { tool_type } : {}) });
  return saved.tool_id;
}

function namesSecret(tool: AgentFile['tools'][number]): boolean {
  return tool.headers?.some((entry) => isSecretHeader(entry) && typeof entry.value === 'string') ?? false;
}

/** A draft's patch with ids for names. Throws `CommandError` for an unknown name. */
function configPatch(
  config: AgentFile['config'],
  known: Pick<StoredAgent, 'toolIds' | 'sourceIds' | 'serverIds'>,
): Json {
  const idOf = (kind: string, ids: ReadonlyMap<string, string>) => (name: string) => {
    const id = ids.get(name);
    if (id === undefined)
      throw new CommandError(`the agent uses the ${kind} “${name}”, which is neither in the file nor stored`);
    return id;
  };
  const { tools, knowledge_base, tool_servers, ...rest } = config;
  const { tools: toolNames, ...toolSettings } = tools ?? {};
  const { sources, ...knowledgeSettings } = knowledge_base ?? {};
  return {
    ...rest,
    tools: {
      ...toolSettings,
      ...(toolNames ? { tool_ids: toolNames.map(idOf('tool', known.toolIds)) } : {}),
    },
    knowledge_base: {
      ...knowledgeSettings,
      ...(sources ? { knowledge_source_ids: sources.map(idOf('knowledge source', known.sourceIds)) } : {}),
    },
    ...(tool_servers
      ? { tool_servers: { tool_server_ids: tool_servers.servers.map(serverId(known.serverIds)) } }
      : {}),
  };
}

/** Finds a tool server, which no import creates. Throws `CommandError` for an unknown one. */
function serverId(ids: ReadonlyMap<string, string>) {
  return (name: string): string => {
    const id = ids.get(name);
    if (id === undefined)
      throw new CommandError(
        `the agent uses the tool server “${name}”, which is not stored here: create it first, since a file ` +
          'has only its name',
      );
    return id;
  };
}

function withoutSecrets(config: AgentFile['config']): unknown {
  return JSON.parse(
    JSON.stringify(config, (name, value: unknown) =>
      name === 'secret' || name === 'api_key' ? undefined : value,
    ),
  );
}

function shownSpeech(speech: Json) {
  return Object.fromEntries(
    Object.entries(speech).map(([part, server]) => [part, withoutFalse(server as { has_secret: boolean })]),
  );
}

function withoutFalse<T extends { has_secret: boolean }>({ has_secret, ...rest }: T) {
  return has_secret ? { ...rest, has_secret } : rest;
}

function shownHeader({ name, kind, value, has_secret }: Json) {
  return has_secret ? { name, kind, has_secret } : { name, kind, value };
}

function pick(record: Json, fields: readonly string[]): Json {
  return Object.fromEntries(fields.filter((field) => field in record).map((field) => [field, record[field]]));
}

function isSame(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** Equal values have equal text, whatever the order of their fields. */
function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

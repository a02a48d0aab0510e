/**
 * `npm run check:regexes`: no regular expression of the product takes more than linear time (recheck analyses
 * each), and none is built from unknown text. `ALLOWED` lists exceptions with the bound on their input; an
 * unnecessary one is a failure as well.
 */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseSync } from '@swc/core';
import { check } from 'recheck';

interface Exception {
  readonly file: string;
  /** Source of a literal, or argument of `RegExp` as written. */
  readonly pattern: string;
  /** What bounds its input. */
  readonly bound: string;
}

const ALLOWED: readonly Exception[] = [
  {
    file: 'control-plane/platform/http/example-of.ts',
    pattern: 'schema pattern',
    bound: 'patterns of our own schemas, which are checked where they stand, on examples written there',
  },
  {
    file: 'control-plane/platform/store/embedded/matcher.ts',
    pattern: 'source',
    bound:
      'made by searchPattern: the search text, at most 256 characters, literally, in names of at most 256',
  },
  {
    file: 'runtime/turn/text/spoken-forms.ts',
    pattern: 'source ENDS (?: ) ',
    bound:
      'sticky, in pieces of a reply, at most 221 characters; test/hostile/speech-text.test.ts measures ' +
      'all of them',
  },
];

const SOURCES =
  '{base,config,protocol,media,telephony,runtime,control-plane,processes,cli,web}/**/*.{ts,tsx}';
const MIN_FILES = 500;
const MIN_PATTERNS = 250;
/** Only stops a run that would never end. */
const TIMEOUT_MS = 300_000;

interface PatternUse {
  readonly file: string;
  readonly pattern: string;
  /** Null if the pattern is unknown before the program runs. */
  readonly flags: string | null;
}

type Node = Readonly<Record<string, unknown>> & { readonly type?: unknown };

interface Pattern {
  readonly pattern: string;
  readonly flags: string;
}

const root = join(import.meta.dirname, '..');
/** Removed with the packages, so that another version of recheck starts anew. */
const MEMORY = join(root, 'node_modules', 'recheck', 'judged.json');
process.exit(await main());

/** The exit code. */
async function main(): Promise<number> {
  const files = [...globSync('*.ts', { cwd: root }), ...globSync(SOURCES, { cwd: root })]
    .filter((file) => !/(^|\/)(dist|node_modules)\//.test(file))
    .sort();
  const found = files.flatMap(patternsOf);
  const judged = await judgeAll(found);
  const needed = new Set<Exception>();
  const problems: string[] = [];
  for (const each of found) {
    const problem = each.flags === null ? 'is created while the program runs' : judged.get(keyOf(each));
    if (!problem) continue;
    const exception = ALLOWED.find(({ file, pattern }) => file === each.file && pattern === each.pattern);
    if (exception) needed.add(exception);
    else problems.push(`${each.file}: /${each.pattern}/ ${problem}`);
  }
  for (const exception of ALLOWED)
    if (!needed.has(exception))
      problems.push(`${exception.file}: the exception for /${exception.pattern}/ is no longer needed`);
  for (const problem of problems) console.log(problem);
  console.log(
    `${judged.size} patterns in ${files.length} files, ${needed.size} exceptions, ${problems.length} ` +
      'problems',
  );
  return problems.length > 0 || files.length < MIN_FILES || judged.size < MIN_PATTERNS ? 1 : 0;
}

/** The problem of each pattern: null if its time is linear in its input. Earlier results are cached. */
async function judgeAll(found: readonly PatternUse[]): Promise<ReadonlyMap<string, string | null>> {
  const known = readCache();
  const distinct = new Map(
    found.flatMap(({ pattern, flags }) =>
      flags === null ? [] : [[keyOf({ pattern, flags }), { pattern, flags }]],
    ),
  );
  const judged = new Map([...known].filter(([key]) => distinct.has(key)));
  const unknown = [...distinct].filter(([key]) => !known.has(key));
  const judgeNext = async () => {
    const next = unknown.pop();
    if (next) judged.set(next[0], await judge(next[1]));
  };
  const judgeRest = async () => {
    while (unknown.length > 0) await judgeNext();
  };
  // The first one alone starts the program of recheck; otherwise each lane would start its own.
  await judgeNext();
  await Promise.all(Array.from({ length: availableParallelism() }, judgeRest));
  mkdirSync(dirname(MEMORY), { recursive: true });
  writeFileSync(MEMORY, JSON.stringify([...judged]));
  return judged;
}

function readCache(): Map<string, string | null> {
  return existsSync(MEMORY)
    ? new Map(JSON.parse(readFileSync(MEMORY, 'utf8')) as [string, string | null][])
    : new Map();
}

async function judge({ pattern, flags }: Pattern): Promise<string | null> {
  // Without time limits the result is the same on every machine.
  const judged = await Promise.race([
    check(pattern, flags, { timeout: TIMEOUT_MS, attackTimeout: null, incubationTimeout: null }),
    lateness(pattern),
  ]);
  if (judged.status === 'safe') return null;
  return judged.status === 'vulnerable'
    ? `takes ${judged.complexity.summary} time`
    : `cannot be analysed (${judged.error.kind}): split it`;
}

/** Rejects when recheck must have answered: an error within its program has no answer. */
async function lateness(pattern: string): Promise<never> {
  await sleep(2 * TIMEOUT_MS);
  throw new Error(`recheck does not answer for /${pattern}/`);
}

function keyOf({ pattern, flags }: { pattern: string; flags: string | null }): string {
  return `/${pattern}/${flags}`;
}

function patternsOf(file: string): PatternUse[] {
  const code = readFileSync(join(root, file), 'utf8');
  const { body } = parseSync(code, { syntax: 'typescript', tsx: file.endsWith('x'), target: 'es2024' });
  const patterns: PatternUse[] = [];
  collect(body, (node) => {
    if (node.type === 'RegExpLiteral')
      patterns.push({ file, pattern: String(node['pattern']), flags: String(node['flags']) });
    else if (isRegExpCall(node)) patterns.push(madeBy(file, node, body));
  });
  return patterns;
}

function collect(node: unknown, visit: (node: Node) => void): void {
  if (typeof node !== 'object' || node === null) return;
  if (!Array.isArray(node)) visit(node as Node);
  for (const child of Object.values(node)) collect(child, visit);
}

function isRegExpCall(node: Node): boolean {
  return (
    (node.type === 'NewExpression' || node.type === 'CallExpression') &&
    (node['callee'] as Node)['value'] === 'RegExp'
  );
}

/** The pattern of a call, if it is built from constants of its own file. */
function madeBy(file: string, call: Node, body: unknown): PatternUse {
  const [pattern, flags] = (call['arguments'] as { expression: Node }[]).map(({ expression }) =>
    constant(expression, body),
  );
  return typeof pattern === 'string' && flags !== null
    ? { file, pattern, flags: flags ?? '' }
    : { file, pattern: written(call), flags: null };
}

/** The text of an expression; null if unknown. */
function constant(node: Node, body: unknown): string | null {
  if (node.type === 'StringLiteral') return String(node['value']);
  if (node.type === 'TaggedTemplateExpression') return templateText(node['template'] as Node, body, 'raw');
  if (node.type === 'TemplateLiteral') return templateText(node, body, 'cooked');
  if (node.type !== 'Identifier') return null;
  let init: Node | null = null;
  collect(body, (each) => {
    if (each.type === 'VariableDeclarator' && (each['id'] as Node)['value'] === node['value'])
      init = each['init'] as Node | null;
  });
  return init === null ? null : constant(init, body);
}

function templateText(template: Node, body: unknown, form: 'raw' | 'cooked'): string | null {
  const quasis = template['quasis'] as Record<'raw' | 'cooked', string>[];
  const values = (template['expressions'] as Node[]).map((expression) => constant(expression, body));
  return values.includes(null)
    ? null
    : quasis.map((quasi, index) => quasi[form] + (values[index] ?? '')).join('');
}

/** Name of a call with an unknown pattern in the list of exceptions: the expressions it is built from. */
function written(call: Node): string {
  const names: string[] = [];
  collect((call['arguments'] as { expression: Node }[])[0]?.expression, (node) => {
    if (node.type === 'Identifier') names.push(String(node['value']));
    else if (node.type === 'TemplateElement') names.push(String(node['raw']));
  });
  return names.join(' ');
}

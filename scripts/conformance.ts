/**
 * `npm run check:conformance`: every rule in docs/conformance.md names the tests that prove it, and each of
 * those exists and is not skipped. Every finding in docs/audit.md has a test that begins with its number. A
 * test is written `file › title` or `file › describe › title`, with the file below test/ without `.test.ts`,
 * or without `.ts` if a test file in its folder imports it; titles of `it.each` are as in the code, `${…}` as
 * `${}`.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseSync } from '@swc/core';

const SEPARATOR = ' › ';
const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs', 'conformance.md'), 'utf8');
/** Sources of the test files, by path below test/. */
const tests = new Map(
  globSync('**/*.test.ts', { cwd: join(root, 'test') }).map((file) => [
    file,
    readFileSync(join(root, 'test', file), 'utf8'),
  ]),
);
const titles = new Map<string, string[]>();
const problems: string[] = [];
let proven = 0;
let unproven = 0;

let chapter = '';
let rule = 0;
for (const [index, line] of page.split('\n').entries()) {
  const heading = /^## (\d+) /.exec(line);
  if (heading) [chapter, rule] = [heading[1] ?? '', 0];
  const cells = /^\| (\d+\.\d+) \| (.+?) \| (.*) \|$/.exec(line);
  if (!cells) continue;
  rule++;
  if (cells[1] !== `${chapter}.${rule}`)
    problems.push(`docs/conformance.md:${index + 1}: number ${cells[1]} should be ${chapter}.${rule}`);
  const proofs = (cells[3] ?? '').split('<br>').map((proof) => proof.trim().replace(/^`(.*)`$/, '$1'));
  if (proofs.every((proof) => proof === '' || proof === 'not yet')) {
    unproven++;
    continue;
  }
  proven++;
  for (const proof of proofs) {
    if (!exists(proof)) problems.push(`docs/conformance.md:${index + 1}: no such test: ${proof}`);
  }
}

const findings = readFileSync(join(root, 'docs', 'audit.md'), 'utf8')
  .split('\n')
  .flatMap((line) => /^\| ((?:security|store) \d+) \|/.exec(line)?.[1] ?? []);
for (const finding of findings) {
  if (![...tests.values()].some((source) => source.includes(`${finding}: `)))
    problems.push(`docs/audit.md: no test begins with ${finding}`);
}

for (const problem of problems) console.log(problem);
console.log(
  `${proven} rules proven by tests, ${unproven} not yet proven, ${findings.length} findings with tests, ` +
    `${problems.length} tests missing`,
);
process.exit(problems.length > 0 || proven === 0 || findings.length === 0 ? 1 : 0);

function exists(proof: string): boolean {
  const [file = '', ...path] = proof.split(SEPARATOR);
  const title = path.join(SEPARATOR);
  return title !== '' && titlesOf(file).some((known) => known === title || known.endsWith(SEPARATOR + title));
}

/** Titles of a file's tests, each after the titles of its describes. */
function titlesOf(file: string): string[] {
  const known = titles.get(file);
  if (known) return known;
  const source =
    tests.get(`${file}.test.ts`) ??
    (isRun(file) ? readFileSync(join(root, 'test', `${file}.ts`), 'utf8') : null);
  const found: string[] = [];
  if (source !== null) collect(parseSync(source, { syntax: 'typescript', target: 'es2022' }).body, [], found);
  titles.set(file, found);
  return found;
}

/** A test file in the same folder imports this part. */
function isRun(part: string): boolean {
  return [...tests].some(
    ([file, source]) => dirname(file) === dirname(part) && source.includes(` from './${basename(part)}.ts';`),
  );
}

/**
 * A call of a title and a function, by a plain name or by the result of a call (`it.each(…)`, `itNeeds(…)`),
 * is a test or a describe; `it.skip(…)` is not.
 */
function collect(node: unknown, outer: readonly string[], found: string[]): void {
  if (typeof node !== 'object' || node === null) return;
  if (Array.isArray(node)) {
    for (const child of node) collect(child, outer, found);
    return;
  }
  const title = titleOf(node as Record<string, unknown>);
  if (title !== null) found.push([...outer, title].join(SEPARATOR));
  for (const child of Object.values(node)) collect(child, title === null ? outer : [...outer, title], found);
}

interface Argument {
  readonly expression: {
    readonly type: string;
    readonly value?: string;
    readonly quasis?: readonly { readonly cooked: string }[];
  };
}

function titleOf(node: Record<string, unknown>): string | null {
  if (node['type'] !== 'CallExpression') return null;
  const callee = (node['callee'] as { type: string }).type;
  const [first, ...rest] = node['arguments'] as Argument[];
  const isTest =
    (callee === 'Identifier' || callee === 'CallExpression') &&
    rest.some(({ expression }) => isFunction(expression.type));
  if (!isTest || !first) return null;
  const { type, value, quasis } = first.expression;
  if (type === 'StringLiteral') return value ?? null;
  return type === 'TemplateLiteral' ? (quasis ?? []).map((part) => part.cooked).join('$' + '{}') : null;
}

function isFunction(type: string): boolean {
  return type === 'ArrowFunctionExpression' || type === 'FunctionExpression';
}

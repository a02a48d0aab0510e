/**
 * `npm run check:house`: figures of the source that must not grow: the longest file, the class with the most
 * mutable fields, long lines, citations of documents that are not in the repository, places that know the
 * operating system, lines of the README. A limit above its aim may only decrease. `npm run house` also prints
 * rooms and links.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseSync } from 'vite';

const LONGEST = { aim: 400, limit: 400 };
const FIELDS = { aim: 10, limit: 10 };
const LONG_LINES = { aim: 0, limit: 0 };
const COLUMNS = 110;
const README_LINES = { aim: 120, limit: 120 };
const PRODUCT =
  /^(?:base|config|protocol|media|telephony|runtime|control-plane|processes|cli|caller|web|bench|scripts|libraries)\/.*\.tsx?$|^main\.ts$/;
const PROSE = /\.(?:tsx?|md|cjs|yml)$/;
const FIELD = 'PropertyDefinition';
/** How a test or a group of tests begins. */
const TITLED = /^(?:it|test|describe)\w*[.(]/;
const graphemes = new Intl.Segmenter();
const GENERATED =
  /^(?:web\/console\/src\/api\/types\.ts$|libraries\/typescript\/src\/generated\/|runtime\/replay\/machines\/v\d+\.mjs$)/;
/** Sections and names of documents that are not in the repository. */
const CITED = /S§|design §|\b[Ss]upplement \d|(?<![\w/.*-])[\w-]+(?:\/[\w-]+)*\.md\b/g;
/** The only file that knows the operating system, and what the others of the server may not name. */
const PLATFORM = 'base/platform.ts';
const SERVER = /^(?!web|bench|scripts|libraries)/;
const SYSTEM =
  /\/proc\b|\/dev\/|\bprocess\.platform\b|\b(?:os\.)?platform\(\)|\bos\.type\(\)|import \{[^}]*\bplatform\b.*'node:process'|'win32'|\bgetuid\b|\b[gs]etPriority\b|PARLEY_TEST_PLATFORM/;

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n');
const names = new Set(files.map((file) => basename(file)));
const texts = new Map<string, string>();
/** Files without a formatter that breaks their lines. */
const unformatted = files.filter(
  (file) => /\.(?:cjs|mjs|sh|yml)$|^\.ci\/|(?:^|\/)Dockerfile$/.test(file) && !GENERATED.test(file),
);
const sources = files.filter((file) => /\.tsx?$/.test(file) && !GENERATED.test(file));
const product = sources.filter((file) => PRODUCT.test(file));

/** A node of a syntax tree (ESTree); offsets in UTF-16 units. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  /** Of a call. */
  readonly arguments?: readonly Node[];
}

interface Member extends Node {
  readonly readonly: boolean;
  readonly static: boolean;
}

/** A figure, and the file it is from. */
interface Figure {
  readonly name: string;
  readonly value: number;
  readonly of: string;
  readonly limit: number;
  readonly aim: number;
}

const figures: Figure[] = [longestFile(), largestClass(), longLines(), absent(), systemPlaces(), readme()];
for (const { name, value, of, limit, aim } of figures)
  console.log(
    `${value > limit ? 'FAILED ' : ''}${name}: ${value}${of === '' ? '' : ` (${of})`}, at most ` +
      `${limit}${limit > aim ? `; aim ${aim}` : ''}`,
  );
process.exit(figures.some(({ value, limit }) => value > limit) ? 1 : 0);

/** Each figure reads most of the files: each file is read once. */
function read(file: string): string {
  const text = texts.get(file) ?? readFileSync(file, 'utf8');
  texts.set(file, text);
  return text;
}

function longestFile(): Figure {
  const lengths = sources.map((file) => ({ file, lines: read(file).split('\n').length - 1 }));
  const { file, lines } = lengths.reduce((most, one) => (one.lines > most.lines ? one : most));
  return { name: 'lines of the longest file', value: lines, of: file, ...LONGEST };
}

function largestClass(): Figure {
  let most = { value: 0, of: '' };
  for (const file of product) {
    for (const node of nodesOf(file)) {
      if (node.type !== 'ClassDeclaration') continue;
      const members = (node as Node & { body: { body: Member[] } }).body.body;
      const value = members.filter((one) => one.type === FIELD && !one.readonly && !one.static).length;
      const { name } = (node as Node & { id: { name: string } }).id;
      if (value > most.value) most = { value, of: `${name} in ${file}` };
    }
  }
  return { name: 'mutable fields of the largest class', ...most, ...FIELDS };
}

/**
 * Lines the formatter should have broken. Excepted are those that end in something that stays on one line: a
 * regular expression, the title of a test with what follows it, another language in a template, a directive.
 */
function longLines(): Figure {
  let value = 0;
  for (const file of [...sources, ...unformatted]) {
    const lines = read(file).split('\n');
    if (!lines.some(isLong)) continue;
    const whole = sources.includes(file) ? wholeOf(file) : [];
    let start = 0;
    for (const line of lines) {
      const end = start + COLUMNS;
      const isKept = line.includes('biome-ignore') || whole.some((one) => one.start <= end && one.end >= end);
      if (isLong(line) && !isKept) {
        value += 1;
        console.log(`  ${file}: ${line.trim()}`);
      }
      start += line.length + 1;
    }
  }
  return { name: `lines longer than ${COLUMNS} columns`, value, of: '', ...LONG_LINES };
}

/** In characters as people see them: a letter with its marks is one. */
function isLong(line: string): boolean {
  return line.length > COLUMNS && [...graphemes.segment(line)].length > COLUMNS;
}

/** What has to stay on its lines. */
function wholeOf(file: string): readonly Node[] {
  const text = read(file);
  return nodesOf(file).flatMap((node) => {
    const title = TITLED.test(text.slice(node.start, node.start + 20)) ? node.arguments?.[0] : undefined;
    if (title) return [{ ...title, end: text.indexOf('\n', title.end) }];
    const isOther = node.type === 'TemplateLiteral' && text.slice(node.start, node.end).includes('\n');
    return isOther || 'regex' in node ? [node] : [];
  });
}

/** Every node of a file's syntax tree. */
function nodesOf(file: string): readonly Node[] {
  const nodes: Node[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === 'object' && value !== null) {
      if ('type' in value && 'start' in value) nodes.push(value as Node);
      Object.values(value).forEach(visit);
    }
  };
  visit(parseSync(file, read(file)).program);
  return nodes;
}

function absent(): Figure {
  const cited = files
    .filter((file) => PROSE.test(file) && file !== 'scripts/house.ts')
    .flatMap((file) => [...proseOf(file).matchAll(CITED)].map(([name]) => ({ file, name })))
    .filter(({ name }) => !name.endsWith('.md') || !names.has(basename(name)));
  for (const { file, name } of cited) console.log(`  ${file} cites ${name}`);
  return { name: 'citations of documents that are not here', value: cited.length, of: '', aim: 0, limit: 0 };
}

/** A page, or the comments of a program: its strings may contain such names. */
function proseOf(file: string): string {
  const text = read(file);
  return file.endsWith('.md')
    ? text
    : [...text.matchAll(/\/\*\*[\s\S]*?\*\/|\/\/ .*|^\s*# .*/gm)].map(([comment]) => comment).join('\n');
}

function systemPlaces(): Figure {
  const places = product
    .filter((file) => SERVER.test(file) && file !== PLATFORM)
    .flatMap((file) =>
      read(file)
        .split('\n')
        .filter((line) => SYSTEM.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
  for (const place of places) console.log(`  ${place}`);
  return {
    name: `places that know the operating system beside ${PLATFORM}`,
    value: places.length,
    of: '',
    aim: 0,
    limit: 0,
  };
}

function readme(): Figure {
  return {
    name: 'lines of the README',
    value: read('README.md').split('\n').length - 1,
    of: '',
    ...README_LINES,
  };
}

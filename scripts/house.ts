/**
 * `npm run check:house`: figures of the source that must not grow: the longest file, the class with the most
 * mutable fields, long lines, citations of documents that are not in the repository, lines of the README. A
 * limit above its aim may only decrease. `npm run house` also prints rooms and links.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type ClassMember, type ModuleItem, parseSync } from '@swc/core';

/** Of the product; tests contain tables of messages. */
const LONGEST = { aim: 400, limit: 400 };
const FIELDS = { aim: 10, limit: 10 };
const LONG_LINES = { aim: 0, limit: 640 };
const COLUMNS = 110;
const README_LINES = { aim: 120, limit: 120 };
const PRODUCT =
  /^(?:base|config|protocol|media|telephony|runtime|control-plane|processes|cli|caller|web|bench|scripts)\/.*\.tsx?$|^main\.ts$/;
const PROSE = /\.(?:tsx?|md|cjs|yml)$/;
const GENERATED = 'web/console/src/api/types.ts';
/** Sections and names of documents that are not in the repository. */
const CITED = /S§|design §|\b[Ss]upplement \d|(?<![\w/.*-])[\w-]+(?:\/[\w-]+)*\.md\b/g;

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n');
const names = new Set(files.map((file) => basename(file)));
const texts = new Map<string, string>();
const product = files.filter((file) => PRODUCT.test(file) && file !== GENERATED);

/** A figure, and the file it is from. */
interface Figure {
  readonly name: string;
  readonly value: number;
  readonly of: string;
  readonly limit: number;
  readonly aim: number;
}

const figures: Figure[] = [longestFile(), largestClass(), longLines(), absent(), readme()];
for (const { name, value, of, limit, aim } of figures)
  console.log(
    `${value > limit ? 'FAILED ' : ''}${name}: ${value}${of === '' ? '' : ` (${of})`}, at most ${limit}${limit > aim ? `; aim ${aim}` : ''}`,
  );
process.exit(figures.some(({ value, limit }) => value > limit) ? 1 : 0);

/** Each figure reads most of the files: each file is read once. */
function read(file: string): string {
  const text = texts.get(file) ?? readFileSync(file, 'utf8');
  texts.set(file, text);
  return text;
}

function longestFile(): Figure {
  const lengths = product.map((file) => ({ file, lines: read(file).split('\n').length - 1 }));
  const { file, lines } = lengths.reduce((most, one) => (one.lines > most.lines ? one : most));
  return { name: 'lines of the longest file', value: lines, of: file, ...LONGEST };
}

function largestClass(): Figure {
  let most = { value: 0, of: '' };
  for (const file of product) {
    for (const item of parseSync(read(file), {
      syntax: 'typescript',
      tsx: file.endsWith('.tsx'),
      target: 'es2022',
    }).body) {
      const declared = classOf(item);
      const value = declared?.body.filter(isMutableField).length ?? 0;
      if (declared && value > most.value) most = { value, of: `${declared.identifier.value} in ${file}` };
    }
  }
  return { name: 'mutable fields of the largest class', ...most, ...FIELDS };
}

function classOf(item: ModuleItem) {
  const declared = item.type === 'ExportDeclaration' ? item.declaration : item;
  return declared.type === 'ClassDeclaration' ? declared : null;
}

function isMutableField(member: ClassMember): boolean {
  return (
    (member.type === 'ClassProperty' || member.type === 'PrivateProperty') &&
    !member.readonly &&
    !member.isStatic
  );
}

/** Lines the formatter cannot break: texts, and comments that are tables. */
function longLines(): Figure {
  const lines = files
    .filter((file) => /\.tsx?$/.test(file) && file !== GENERATED)
    .flatMap((file) => read(file).split('\n'))
    .filter(({ length }) => length > COLUMNS);
  return { name: `lines longer than ${COLUMNS} columns`, value: lines.length, of: '', ...LONG_LINES };
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

function readme(): Figure {
  return {
    name: 'lines of the README',
    value: read('README.md').split('\n').length - 1,
    of: '',
    ...README_LINES,
  };
}

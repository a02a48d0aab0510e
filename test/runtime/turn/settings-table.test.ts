/**
 * docs/turn-taking.md lists every conversation setting with its range and default, and docs/measuring.md the
 * tests that cover both ends of the range.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { agentConfig } from '#config/agent-config.ts';

/** Sections of an agent's configuration that affect how it talks. */
const SECTIONS = ['prompt.first_message', 'voice.', 'asr.', 'conversation.', 'tools.system_tools.'];
/** An enumeration longer than this is represented by its first and last values. */
const FEW = 4;

const DOCS = new URL('../../../docs/', import.meta.url);
const SETTING_ROW = /^\| `([^`]+)` \| (.+?) \| (.+?) \| .+ \|$/;
const TESTS_ROW = /^\| `([^`]+)` \| (.+) \|$/;

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
}

/** A setting: its range and default as listed in the table, and the strings that a test of them contains. */
interface Setting {
  readonly path: string;
  readonly ends: string;
  readonly standard: string;
  readonly shownBy: readonly RegExp[];
}

const settings = settingsOf('', z.toJSONSchema(agentConfig) as Schema).filter(({ path }) =>
  SECTIONS.some((section) => path.startsWith(section)),
);

it('every setting is documented with its range and default', () => {
  const rows = rowsOf('turn-taking.md', '## Settings', SETTING_ROW);
  expect(rows.map(([path, ends, standard]) => `${path}: ${ends}, ${standard}`)).toEqual(
    settings.map(({ path, ends, standard }) => `${path}: ${ends}, ${standard}`),
  );
});

it('every setting has tests of both ends of its range', () => {
  const rows = rowsOf('measuring.md', '### Tests of the settings', TESTS_ROW);
  expect(rows.map(([path]) => path)).toEqual(settings.map(({ path }) => path));
  const unshown = rows.flatMap(([path = '', tests = ''], index) => {
    const shown = blocksAbout(path.split('.').at(-1) ?? '', tests);
    return (settings[index]?.shownBy ?? []).filter((end) => !end.test(shown)).map((end) => `${path}: ${end}`);
  });
  expect(unshown).toEqual([]);
});

/** The cells of the table below a heading. */
function rowsOf(page: string, heading: string, row: RegExp): string[][] {
  const [, section = ''] = readFileSync(new URL(page, DOCS), 'utf8').split(`\n${heading}\n`);
  const [own = ''] = section.split('\n#');
  return own.split('\n').flatMap((line) => {
    const match = row.exec(line);
    return match ? [match.slice(1)] : [];
  });
}

function settingsOf(path: string, schema: Schema, isPresent = true): Setting[] {
  if (schema.properties)
    return Object.entries(schema.properties).flatMap(([name, field]) =>
      settingsOf(path === '' ? name : `${path}.${name}`, field, schema.required?.includes(name)),
    );
  const { items } = schema;
  const setting = { path, ...endsOf(schema), standard: isPresent ? standardOf(schema) : 'absent' };
  return [setting, ...(items?.properties ? settingsOf(`${path}[]`, items) : [])];
}

function standardOf({ default: value }: Schema): string {
  if (value === undefined) return 'required';
  if (value === '') return 'empty';
  if (Array.isArray(value)) return 'none';
  const isSentence = typeof value === 'string' && value.includes(' ');
  return typeof value === 'number' || isSentence ? String(value) : `\`${value}\``;
}

function endsOf(schema: Schema): Pick<Setting, 'ends' | 'shownBy'> {
  const number = (value = 0) => new RegExp(`(?<![\\d.])${value}(?![\\d.])`);
  const quoted = (value: string) => new RegExp(`'${value.replace(/[*]/g, '\\$&')}'`);
  const [first, second] = schema.anyOf ?? [];
  if (first && second?.type === 'null')
    return { ends: `${endsOf(first).ends}, \`null\``, shownBy: [...endsOf(first).shownBy, /null/] };
  if (schema.type === 'boolean') return { ends: '`false`, `true`', shownBy: [/false/, /true/] };
  if (schema.type === 'array')
    return { ends: `none to ${schema.maxItems}`, shownBy: [number(schema.maxItems)] };
  if (schema.minimum !== undefined)
    return {
      ends: `${schema.minimum} to ${schema.maximum}`,
      shownBy: [number(schema.minimum), number(schema.maximum)],
    };
  if (!schema.enum) return { ends: 'text', shownBy: [/./] };
  const values = schema.enum.length > FEW ? [schema.enum[0] ?? '', schema.enum.at(-1) ?? ''] : schema.enum;
  const names = values.map((value) => `\`${value || '""'}\``);
  return {
    ends: schema.enum.length > FEW ? `${names.join(' … ')} (${schema.enum.length})` : names.join(', '),
    shownBy: values.map(quoted),
  };
}

/**
 * All blocks in the linked tests that mention the setting, with digit separators removed. A broken link
 * fails.
 */
function blocksAbout(name: string, links: string): string {
  return [...links.matchAll(/\]\(([^)]+)\)/g)]
    .flatMap(([, link = '']) => readFileSync(new URL(link, DOCS), 'utf8').split(/\n\n/))
    .filter((block) => block.includes(name.replace('[]', '')))
    .join('\n')
    .replace(/(?<=\d)_(?=\d)/g, '');
}

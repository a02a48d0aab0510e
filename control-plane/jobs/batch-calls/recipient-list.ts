/**
 * Parses a CSV file of people to call (RFC 4180; comma, semicolon or tab). An invalid row is reported with
 * its line and problem. A long list takes seconds, so parsing yields to other work.
 */
import { Readable } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import { CsvError, parse } from 'csv-parse';
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { variableName } from '#config/agent-config.ts';
import { LIMITS } from '#config/limits.ts';
import { InvalidRequest, invalidFrom, type ValidationEntry } from '../../platform/http/problems.ts';
import { type Recipient, recipient } from './batch-record.ts';

/** A row: its position in the list, from 0, and its line in the file. */
export interface ListedRow {
  readonly recipient: Recipient;
  readonly index: number;
  readonly line: number;
}

/** The valid rows of a list, and the problems of the others. */
export interface RecipientList {
  readonly rows: readonly ListedRow[];
  readonly faulty: readonly ValidationEntry[];
}

const NUMBER = 'to_number';
/** Every other column is a dynamic variable. */
const FIXED = new Set([NUMBER, 'to_extension', 'metadata', 'end_user_id']);
/** A record would drop a key `__proto__`; it is refused, as in a JSON body. */
const jsonObject = z.custom<Record<string, unknown>>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !Object.hasOwn(value, '__proto__'),
);
/** Separators that people and spreadsheets put between digits. */
const SEPARATORS = /[\s().-]/g;
/** Rows parsed and checked per iteration of the event loop. */
const CHUNK_BYTES = 8_192;
const CHUNK_ROWS = 10;
const CHUNK_CELLS = 200;

interface Line {
  readonly cells: readonly string[];
  readonly line: number;
}

/** Parses a file's bytes. Rejects with `InvalidRequest` if the whole file or all of its rows are invalid. */
export async function readRecipientList(bytes: Uint8Array): Promise<RecipientList> {
  const [head, ...rows] = await parsedLines(bytes, delimiterOf(decode(bytes)));
  if (!head || rows.length === 0)
    throw new InvalidRequest([
      listEntry('the file has no rows: a line of column names, then one line for each number'),
    ]);
  if (rows.length > LIMITS.batchRows)
    throw new InvalidRequest([
      listEntry(`the file has more than ${LIMITS.batchRows} rows: split it into several batches`),
    ]);
  const columns = head.cells.map((name) => name.trim());
  const flaws = columnFlaws(columns, head.line);
  if (flaws.length > 0) throw new InvalidRequest(flaws);
  const read: ReturnType<typeof readRow>[] = [];
  const chunkRows = Math.min(CHUNK_ROWS, Math.ceil(CHUNK_CELLS / columns.length));
  for (const [index, row] of rows.entries()) {
    if (index % chunkRows === 0) await nextRound();
    read.push(readRow(columns, row, index));
  }
  const faulty = read.flatMap((result) => ('entries' in result ? result.entries : []));
  const taken = read.flatMap((result) => ('recipient' in result ? [result] : []));
  if (taken.length === 0) throw new InvalidRequest(faulty);
  return { rows: taken, faulty };
}

/** Checks the entries of a JSON list; lines count from 1. Rejects with `InvalidRequest` if one is invalid. */
export async function checkedList(entries: readonly unknown[]): Promise<RecipientList> {
  const rows: ListedRow[] = [];
  const faulty: ValidationEntry[] = [];
  for (const [index, entry] of entries.entries()) {
    if (index % CHUNK_ROWS === 0) await nextRound();
    const { data, error } = recipient.safeParse(entry);
    if (data) rows.push({ recipient: data, index, line: index + 1 });
    else
      faulty.push(
        ...invalidFrom(error, 'body').entries.map(({ loc, ...rest }) => ({
          ...rest,
          loc: ['body', 'recipients', String(index), ...loc.slice(1)],
        })),
      );
  }
  if (faulty.length > 0) throw new InvalidRequest(faulty);
  return { rows, faulty };
}

/** An invalid row: `index` is its position in the list, `line` its line in the file. */
export function faultyRow(index: number, line: number, field: string, text: string): ValidationEntry {
  const loc = ['body', 'recipients', String(index), field];
  return {
    type: 'value_error',
    loc,
    msg: `Value error, line ${line}: ${text}`,
    ctx: { error: text, line },
    in: 'body',
  };
}

/** Sorts problems in the order of the list. */
export function byRow(one: ValidationEntry, other: ValidationEntry): number {
  return Number(one.loc[2] ?? 0) - Number(other.loc[2] ?? 0);
}

function listEntry(text: string): ValidationEntry {
  return {
    type: 'value_error',
    loc: ['body', 'recipients'],
    msg: `Value error, ${text}`,
    ctx: { error: text },
    in: 'body',
  };
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new InvalidRequest([listEntry('the file is not UTF-8 text: save it as "CSV UTF-8"')]);
  }
}

async function parsedLines(bytes: Uint8Array, delimiter: string): Promise<Line[]> {
  try {
    const options = {
      bom: true,
      delimiter,
      info: true,
      // A file merged from several may mix line endings.
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      skip_records_with_empty_values: true,
      // The header, the maximum number of rows, and one more row to detect a file that is too long.
      to: LIMITS.batchRows + 2,
    };
    const lines: Line[] = [];
    const records: AsyncIterable<{ readonly record: string[]; readonly info: { readonly lines: number } }> =
      Readable.from(chunksOf(bytes)).pipe(parse(options));
    for await (const { record, info } of records) lines.push({ cells: record, line: info.lines });
    return lines;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number(error['lines'] ?? 1);
    throw new InvalidRequest([
      listEntry(
        `the file cannot be parsed from line ${line} on: look for a quotation mark that is not closed or ` +
          'not doubled',
      ),
    ]);
  }
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    await nextRound();
    yield bytes.subarray(at, at + CHUNK_BYTES);
  }
}

/**
 * Spreadsheets write semicolons if the comma is the decimal separator. Throws `InvalidRequest` for too many
 * columns.
 */
function delimiterOf(text: string): string {
  const [head = ''] = /[^\r\n]+/.exec(text) ?? [];
  const counted = [',', ';', '\t'].map((mark) => ({
    mark,
    count: head.split(mark, LIMITS.batchColumns + 1).length,
  }));
  const { count, mark } = counted.reduce((best, other) => (other.count > best.count ? other : best));
  if (count <= LIMITS.batchColumns) return mark;
  throw new InvalidRequest([
    listEntry(`the file has more than ${LIMITS.batchColumns} columns: keep those that the agent uses`),
  ]);
}

function columnFlaws(columns: readonly string[], line: number): ValidationEntry[] {
  const earlier = new Set<string>();
  const flaw = (text: string) => ({ ...listEntry(`line ${line}: ${text}`), ctx: { error: text, line } });
  return [
    ...(columns.includes(NUMBER) ? [] : [flaw(`there is no column ${NUMBER}`)]),
    ...columns.flatMap((name, index) => {
      const which = `column ${index + 1}`;
      if (name === '') return [flaw(`${which} has no name`)];
      if (earlier.has(name)) return [flaw(`${which} repeats an earlier name`)];
      earlier.add(name);
      return FIXED.has(name) || variableName.safeParse(name).success
        ? []
        : [flaw(`${which} is not a valid variable name: letters, digits and _, starting with a letter`)];
    }),
  ];
}

function readRow(
  columns: readonly string[],
  { cells, line }: Line,
  index: number,
): ListedRow | { readonly entries: ValidationEntry[] } {
  if (cells.length !== columns.length)
    return {
      entries: [
        faultyRow(
          index,
          line,
          NUMBER,
          `has ${cells.length} columns where the first line has ${columns.length}`,
        ),
      ],
    };
  const filled = columns
    .map((name, column) => [name, (cells[column] ?? '').trim()] as const)
    .filter(([, value]) => value !== '');
  const fixed = Object.fromEntries(filled.filter(([name]) => FIXED.has(name)));
  const parsed = recipient.safeParse({
    ...fixed,
    ...(fixed[NUMBER] === undefined ? {} : { [NUMBER]: fixed[NUMBER].replace(SEPARATORS, '') }),
    ...(fixed['metadata'] === undefined
      ? {}
      : { metadata: parseJson(jsonObject, fixed['metadata']) ?? fixed['metadata'] }),
    dynamic_variables: Object.fromEntries(filled.filter(([name]) => !FIXED.has(name))),
  });
  if (parsed.success) return { recipient: parsed.data, index, line };
  return {
    entries: invalidFrom(parsed.error, 'body').entries.map(({ loc, msg }) =>
      faultyRow(index, line, loc[1] ?? NUMBER, `${loc.slice(1).join('.')}: ${msg}`),
    ),
  };
}

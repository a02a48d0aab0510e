/**
 * Reads the documents that match a filter, in order. Rows are fetched in chunks, each continuing after the
 * last key read, so no SQLite statement stays open between steps and concurrent writes are safe.
 */
import { type Document, decode } from './bson-values.ts';
import type { Collection } from './catalogue.ts';
import type { Store, StoredRow } from './documents.ts';
import { encodeKey, indexedValues } from './keys.ts';
import { compileFilter } from './matcher.ts';
import { choosePlan, type KeyRange, type Plan, type Sort } from './planner.ts';
import type { Row } from './sqlite.ts';

/** A document found; decoded on demand. */
export interface ScannedRow extends StoredRow {
  readonly document: () => Document;
}

/** Filter and sort of a scan. */
export interface Query {
  readonly filter: Document;
  readonly sort?: Sort;
}

/** Called for every row examined; may throw to abort the scan. */
export type OnExamined = () => void;

const FIRST_CHUNK_ROWS = 16;
/** Of a range among many that are merged: most of them give a page few rows or none. */
const FIRST_MERGED_ROWS = 2;
const MAX_CHUNK_ROWS = 1_024;

/** Yields the matching documents of a collection in sort order. */
export function* scan(
  store: Store,
  collection: Collection | undefined,
  query: Query,
  onExamined?: OnExamined,
): Generator<ScannedRow> {
  // Compiled before reading, so a malformed filter is refused even for an empty collection.
  const matches = compileFilter(query.filter);
  if (!collection) return;
  const sort = query.sort ?? {};
  const plan = choosePlan(collection, query.filter, sort);
  const found = matching(candidates(store, collection, plan), plan.isExact ? null : matches, onExamined);
  if (plan.isSorted) yield* found;
  else yield* sorted([...found], sort);
}

/** Applies skip and limit; limit 0 means no limit. */
export function* limited(found: Iterable<ScannedRow>, skip: number, limit: number): Generator<ScannedRow> {
  let seen = 0;
  for (const row of found) {
    seen += 1;
    if (seen > skip) yield row;
    if (limit > 0 && seen === skip + limit) return;
  }
}

/** Counts matching documents; uses only the index when its keys decide the filter. */
export function count(
  store: Store,
  collection: Collection | undefined,
  filter: Document,
  onExamined?: OnExamined,
): number {
  compileFilter(filter);
  if (!collection) return 0;
  const plan = choosePlan(collection, filter, {});
  if (plan.isExact && plan.index === null)
    return countOf(store.sqlite.get(`SELECT count(*) AS n FROM ${collection.table}`));
  if (plan.isExact && plan.index) {
    const sql =
      `SELECT count(*) AS n FROM ${plan.index.table} WHERE ${plan.index.keyColumn}>=? AND ` +
      `${plan.index.keyColumn}<?`;
    return plan.ranges.reduce((total, { from, to }) => total + countOf(store.sqlite.get(sql, from, to)), 0);
  }
  let total = 0;
  for (const _ of scan(store, collection, { filter }, onExamined)) total += 1;
  return total;
}

/**
 * A document's sort key. For arrays, the smallest element counts in ascending order, the largest in
 * descending order.
 */
export function sortKey(document: Document, sort: Sort): Buffer {
  const parts = Object.entries(sort).map(([path, order]) => {
    const direction = order < 0 ? -1 : 1;
    const keys = indexedValues(document, path.split('.')).values.map((value) => encodeKey(value, direction));
    return keys.reduce((first, key) => (Buffer.compare(key, first) < 0 ? key : first));
  });
  return Buffer.concat(parts);
}

function countOf(row: Row | undefined): number {
  return Number(row?.['n'] ?? 0);
}

function* matching(
  rows: Iterable<Row>,
  matches: ((document: Document) => boolean) | null,
  onExamined?: OnExamined,
): Generator<ScannedRow> {
  for (const row of rows) {
    onExamined?.();
    const bytes = row['doc'] as Uint8Array;
    const rid = Number(row['rid']);
    if (!matches) yield { rid, bytes, document: () => decode(bytes) };
    else {
      const document = decode(bytes);
      if (matches(document)) yield { rid, bytes, document: () => document };
    }
  }
}

function* sorted(found: ScannedRow[], sort: Sort): Generator<ScannedRow> {
  const keyed = found.map(({ rid, bytes, document }) => ({ rid, bytes, key: sortKey(document(), sort) }));
  keyed.sort((left, right) => Buffer.compare(left.key, right.key));
  for (const { rid, bytes } of keyed) yield { rid, bytes, document: () => decode(bytes) };
}

function candidates(store: Store, collection: Collection, plan: Plan): Iterable<Row> {
  if (plan.index === null) return everyRow(store, collection, plan.isDescending);
  return plan.isMerged ? mergedRows(store, collection, plan) : rangeAfterRange(store, collection, plan);
}

function* rangeAfterRange(store: Store, collection: Collection, plan: Plan): Generator<Row> {
  // A multikey index can return the same row several times.
  const seen = plan.index?.isMultikey ? new Set<number>() : null;
  const ranges = plan.isDescending ? plan.ranges.toReversed() : plan.ranges;
  for (const range of ranges) {
    for (const row of rowsInRange(store, collection, plan, range)) {
      const rid = Number(row['rid']);
      if (seen?.has(rid)) continue;
      seen?.add(rid);
      yield row;
    }
  }
}

/** Merges the sorted rows of several ranges, ordered by the key bytes after the prefix. */
function* mergedRows(store: Store, collection: Collection, plan: Plan): Generator<Row> {
  const sign = plan.isDescending ? -1 : 1;
  const heads = plan.ranges.flatMap((range) => {
    const head = {
      rows: rowsInRange(store, collection, plan, range),
      prefixBytes: range.prefixBytes,
      row: {} as Row,
    };
    return advance(head) ? [head] : [];
  });
  while (heads.length > 0) {
    const first = heads.reduce((best, head) => (compareTails(head, best) * sign < 0 ? head : best));
    yield first.row;
    if (!advance(first)) heads.splice(heads.indexOf(first), 1);
  }
}

interface RangeHead {
  readonly rows: Iterator<Row>;
  readonly prefixBytes: number;
  row: Row;
}

function advance(head: RangeHead): boolean {
  const next = head.rows.next();
  if (!next.done) head.row = next.value;
  return next.done !== true;
}

function compareTails(left: RangeHead, right: RangeHead): number {
  const [leftKey, rightKey] = [left, right].map(({ row, prefixBytes }) =>
    (row['k'] as Uint8Array).subarray(prefixBytes),
  ) as [Uint8Array, Uint8Array];
  return Buffer.compare(leftKey, rightKey) || Number(left.row['rid']) - Number(right.row['rid']);
}

function* everyRow(store: Store, collection: Collection, isDescending: boolean): Generator<Row> {
  const order = isDescending ? 'DESC' : 'ASC';
  const beyond = isDescending ? '<' : '>';
  const sql = `SELECT rid, doc FROM ${collection.table} WHERE rid${beyond}? ORDER BY rid ${order} LIMIT ?`;
  let last = isDescending ? Number.MAX_SAFE_INTEGER : -1;
  yield* chunked(
    (limit) => store.sqlite.all(sql, last, limit),
    (row) => {
      last = Number(row['rid']);
    },
  );
}

function* rowsInRange(store: Store, collection: Collection, plan: Plan, range: KeyRange): Generator<Row> {
  const statements = rangeStatements(collection, plan);
  let last: Row | null = null;
  const { from, to } = range;
  const fetch = (limit: number): Row[] => {
    if (last === null) return store.sqlite.all(statements.first, from, to, limit);
    const key = last['k'] as Uint8Array;
    return store.sqlite.all(statements.next, key, Number(last['rid']), plan.isDescending ? from : to, limit);
  };
  const firstRows = plan.ranges.length >= FIRST_CHUNK_ROWS ? FIRST_MERGED_ROWS : FIRST_CHUNK_ROWS;
  yield* chunked(
    fetch,
    (row) => {
      last = row;
    },
    plan.isMerged ? firstRows : FIRST_CHUNK_ROWS,
  );
}

/** Two statements: one starts a range, the other continues after a given key and row. */
function rangeStatements(
  collection: Collection,
  plan: Plan,
): { readonly first: string; readonly next: string } {
  const { table = collection.table, keyColumn = 'id' } = plan.index ?? {};
  const isPrimary = table === collection.table;
  const source = isPrimary
    ? `${table} AS x`
    : `${table} AS x CROSS JOIN ${collection.table} AS d ON d.rid=x.rid`;
  const select = `SELECT x.${keyColumn} AS k, x.rid AS rid, doc FROM ${source} WHERE`;
  const key = `x.${keyColumn}`;
  if (plan.isDescending) {
    const tail = `ORDER BY ${key} DESC, x.rid DESC LIMIT ?`;
    return {
      first: `${select} ${key}>=? AND ${key}<? ${tail}`,
      next: `${select} (${key}, x.rid)<(?, ?) AND ${key}>=? ${tail}`,
    };
  }
  const tail = `ORDER BY ${key}, x.rid LIMIT ?`;
  return {
    first: `${select} ${key}>=? AND ${key}<? ${tail}`,
    next: `${select} (${key}, x.rid)>(?, ?) AND ${key}<? ${tail}`,
  };
}

/** Fetches chunks of increasing size until one is incomplete. */
function* chunked(
  fetch: (limit: number) => Row[],
  onRow: (row: Row) => void,
  firstRows = FIRST_CHUNK_ROWS,
): Generator<Row> {
  for (let limit = firstRows; ; limit = Math.min(limit * 2, MAX_CHUNK_ROWS)) {
    const rows = fetch(limit);
    for (const row of rows) {
      onRow(row);
      yield row;
    }
    if (rows.length < limit) return;
  }
}

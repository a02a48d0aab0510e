/**
 * Query planner: answers a filter and sort from a range of `_id`, ranges of an index, or a scan of all
 * documents. An index is used only if it contains every document the filter can match; the matcher checks
 * what the keys cannot decide.
 */
import { type Document, isDocument } from './bson-values.ts';
import type { Collection, Index } from './catalogue.ts';
import { EMPTY_ARRAY, encodeKey, keyAfter, LAST_KEY, TYPE, typeByte } from './keys.ts';
import { compileFilter } from './matcher.ts';
import { type FieldPredicate, type FilterPredicates, predicatesOf } from './predicates.ts';

/** Keys from `from` (inclusive) to `to` (exclusive), all with the same prefix of `prefixBytes` bytes. */
export interface KeyRange {
  readonly from: Buffer;
  readonly to: Buffer;
  readonly prefixBytes: number;
}

/** How to find the documents. */
export interface Plan {
  /** Null scans all documents in insertion order. */
  readonly index: Index | null;
  readonly ranges: readonly KeyRange[];
  readonly isDescending: boolean;
  /**
   * Documents arrive in the requested order; for several ranges, after merging them by the key bytes that
   * follow their prefixes.
   */
  readonly isSorted: boolean;
  readonly isMerged: boolean;
  /** Every document found matches; the matcher is not needed. */
  readonly isExact: boolean;
}

/** A sort as sent by the driver; values are 1 or −1. */
export type Sort = Readonly<Record<string, number>>;

const MAX_RANGES = 1_000;

/** Chooses the best plan for a filter and sort. */
export function choosePlan(collection: Collection, filter: Document, sort: Sort): Plan {
  const predicates = predicatesOf(filter);
  const primary = candidate(collection.primary, predicates, sort);
  // A single document by its `_id`: no other index is faster.
  if (primary && predicates.fields.get('_id')?.equals?.length === 1) return primary.plan;
  const candidates = [collection.primary, ...collection.indexes]
    .map((index) => candidate(index, predicates, sort))
    .filter((option) => option !== null);
  const best = candidates.reduce<Candidate | null>(
    (winner, option) => (option.score > (winner?.score ?? 0) ? option : winner),
    null,
  );
  if (best) return best.plan;
  const natural = Object.keys(sort).length === 1 ? sort['$natural'] : undefined;
  return {
    index: null,
    ranges: [],
    isDescending: (natural ?? 1) < 0,
    isSorted: Object.keys(sort).length === 0 || natural !== undefined,
    isMerged: false,
    isExact: predicates.isExact && predicates.fields.size === 0,
  };
}

interface Candidate {
  readonly plan: Plan;
  readonly score: number;
}

const SCORE = { equal: 4, oneOf: 3, range: 2, sorted: 1.5, primary: 100 } as const;

function candidate(index: Index, predicates: FilterPredicates, sort: Sort): Candidate | null {
  if (!holdsEveryMatch(index, predicates)) return null;
  const prefix = equalityPrefix(index, predicates);
  const next = index.fields[prefix.fields];
  const bounds = next && predicates.fields.get(next.path);
  const hasRange = bounds?.lower !== undefined || bounds?.upper !== undefined;
  const ranges =
    next && bounds && hasRange
      ? prefix.keys.map((key) =>
          boundedRange(key, bounds, { direction: next.direction, isMultikey: index.isMultikey }),
        )
      : prefix.keys.map((key) => ({
          from: key,
          to: key.length === 0 ? LAST_KEY : keyAfter(key),
          prefixBytes: key.length,
        }));
  const order = sortedOrder(index, prefix, sort);
  const hasSort = Object.keys(sort).length > 0;
  const usedFields = prefix.fields + (hasRange ? 1 : 0);
  const score =
    prefix.score +
    (hasRange ? SCORE.range : 0) +
    (hasSort && order !== null ? SCORE.sorted : 0) +
    (index.keyColumn === 'id' && prefix.fields === 1 ? SCORE.primary : 0);
  return {
    score,
    plan: {
      index,
      ranges,
      isDescending: order === -1,
      isSorted: !hasSort || order !== null,
      isMerged: hasSort && order !== null && ranges.length > 1,
      isExact: predicates.isExact && !index.isMultikey && usedFields === predicates.fields.size,
    },
  };
}

interface Prefix {
  readonly keys: Buffer[];
  /** Number of index fields fixed by equality. */
  readonly fields: number;
  readonly score: number;
}

/** The longest run of leading fields with `$eq` or `$in`, expanded into all combinations. */
function equalityPrefix(index: Index, predicates: FilterPredicates): Prefix {
  let keys: Buffer[] = [Buffer.alloc(0)];
  let fields = 0;
  let score = 0;
  for (const { path, direction } of index.fields) {
    const values = predicates.fields.get(path)?.equals;
    if (!values) break;
    const encoded = distinctKeys(
      values.flatMap((value) => (value === null ? [null, EMPTY_ARRAY] : [value])),
      direction,
    );
    if (keys.length * encoded.length > MAX_RANGES) break;
    keys = keys.flatMap((prefix) => encoded.map((key) => Buffer.concat([prefix, key])));
    fields += 1;
    score += values.length === 1 ? SCORE.equal : SCORE.oneOf;
  }
  return { keys, fields, score };
}

function distinctKeys(values: readonly unknown[], direction: 1 | -1): Buffer[] {
  const keys = values.map((value) => encodeKey(value, direction));
  return [...new Map(keys.map((key) => [key.toString('latin1'), key])).values()];
}

/**
 * Range of the field after the prefix. With arrays, different elements may satisfy the two bounds, so only
 * the lower one limits the keys.
 */
function boundedRange(
  prefix: Buffer,
  bounds: FieldPredicate,
  field: { direction: 1 | -1; isMultikey: boolean },
): KeyRange {
  const { lower, upper } = bounds;
  const usableUpper = lower && field.isMultikey ? undefined : upper;
  const type = typeByte((lower ?? upper)?.value);
  const from = lower ? cut(encodeKey(lower.value), !lower.isInclusive) : firstOfType(type);
  const to =
    usableUpper && typeByte(usableUpper.value) === type
      ? cut(encodeKey(usableUpper.value), usableUpper.isInclusive)
      : Buffer.from([type + 1]);
  const prefixBytes = prefix.length;
  if (field.direction > 0)
    return { from: Buffer.concat([prefix, from]), to: Buffer.concat([prefix, to]), prefixBytes };
  // Descending field: with inverted bytes, the ascending interval [from, to) of whole keys runs from the
  // inverted `to` to the inverted `from`.
  return {
    from: Buffer.concat([prefix, invertedLimit(to)]),
    to: Buffer.concat([prefix, invertedLimit(from)]),
    prefixBytes,
  };
}

function cut(key: Buffer, isAfter: boolean): Buffer {
  return isAfter ? keyAfter(key) : key;
}

/** NaN is a number but not part of any range. */
function firstOfType(type: number): Buffer {
  return type === TYPE.number ? encodeKey(Number.NEGATIVE_INFINITY) : Buffer.from([type]);
}

/**
 * For whole keys k, none a prefix of another: k < limit if and only if inverted(k) ≥ the result. A limit is a
 * whole key, or directly follows one or a type byte.
 */
function invertedLimit(limit: Buffer): Buffer {
  return keyAfter(limit.map((byte) => byte ^ 0xff));
}

/** 1 or −1 if the index yields the sort order forwards or backwards; null if it does not. */
function sortedOrder(index: Index, prefix: Prefix, sort: Sort): 1 | -1 | null {
  if (index.isMultikey) return null;
  // A field with several values is not sorted itself, but the fields after it can be merged.
  const isOne = prefix.keys.length <= 1;
  const fixed = new Set(isOne ? index.fields.slice(0, prefix.fields).map((field) => field.path) : []);
  const rest = Object.keys(sort).filter((path) => !fixed.has(path));
  const tail = index.fields.slice(prefix.fields);
  let order: 1 | -1 | null = null;
  for (const [at, path] of rest.entries()) {
    const field = tail[at];
    if (field?.path !== path) return null;
    const direction = (sort[path] ?? 1) * field.direction < 0 ? -1 : 1;
    if (order !== null && order !== direction) return null;
    order = direction;
  }
  return order ?? 1;
}

/** A sparse or partial index is usable only if it contains every document the filter can match. */
function holdsEveryMatch(index: Index, predicates: FilterPredicates): boolean {
  if (index.spec.sparse && !index.fields.some(({ path }) => requiresValue(predicates.fields.get(path))))
    return false;
  const partial = index.spec.partialFilterExpression;
  if (!partial) return true;
  return Object.entries(partial).every(
    ([path, condition]) => !path.startsWith('$') && implies(predicates.fields.get(path), path, condition),
  );
}

function requiresValue(predicate: FieldPredicate | undefined): boolean {
  if (!predicate) return false;
  if (predicate.equals) return !predicate.equals.includes(null);
  return predicate.lower !== undefined || predicate.upper !== undefined;
}

/** True if every value that meets the predicate also meets the partial index's condition. */
function implies(predicate: FieldPredicate | undefined, path: string, condition: unknown): boolean {
  if (!predicate) return false;
  // As in MongoDB, a `$type` condition is implied only by an identical one.
  if (isDocument(condition) && '$type' in condition)
    return condition['$type'] === predicate.type && Object.keys(condition).length === 1;
  if (!requiresValue(predicate)) return false;
  if (predicate.equals) {
    const matches = compileFilter({ value: condition });
    return predicate.equals.every((value) => matches({ value }));
  }
  // A range only implies that a value of the bound's type exists.
  if (!isDocument(condition) || !Object.keys(condition).every((name) => name === '$exists')) return false;
  return (
    path !== '' && compileFilter({ value: condition })({ value: (predicate.lower ?? predicate.upper)?.value })
  );
}

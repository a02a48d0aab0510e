/** Extracts a filter's conditions on single fields, as far as index keys can evaluate them. */
import { bsonType, type Document, isDocument, isOperators } from './bson-values.ts';
import { compareValues } from './keys.ts';

/** One end of a range. */
interface Bound {
  readonly value: unknown;
  readonly isInclusive: boolean;
}

/**
 * Conditions on one field that must all hold. `equals` comes from `$eq` or `$in`; null also matches a missing
 * field.
 */
export interface FieldPredicate {
  equals?: readonly unknown[];
  lower?: Bound;
  upper?: Bound;
  /** Operand of `$type`. */
  type?: unknown;
}

/** The part of a filter that indexes can use. */
export interface FilterPredicates {
  readonly fields: ReadonlyMap<string, FieldPredicate>;
  /** The predicates express the whole filter. */
  readonly isExact: boolean;
}

/** Extracts the predicates from a filter; the matcher handles everything else. */
export function predicatesOf(filter: Document): FilterPredicates {
  const fields = new Map<string, FieldPredicate>();
  const isExact = gather(filter, fields);
  // Equality and range on one field: the keys handle the equality, the matcher checks the range.
  const isMixed = [...fields.values()].some(({ equals, lower, upper }) => equals && (lower || upper));
  return { fields, isExact: isExact && !isMixed };
}

/** Returns true if the whole filter was captured. */
function gather(filter: Document, fields: Map<string, FieldPredicate>): boolean {
  let isExact = true;
  for (const [path, condition] of Object.entries(filter)) {
    if (path === '$and' && Array.isArray(condition)) {
      for (const part of condition) isExact = isDocument(part) && gather(part, fields) && isExact;
    } else if (path.startsWith('$')) isExact = false;
    else isExact = gatherField(path, condition, fields) && isExact;
  }
  return isExact;
}

function gatherField(path: string, condition: unknown, fields: Map<string, FieldPredicate>): boolean {
  const predicate = { ...fields.get(path) };
  const operators = isOperators(condition) ? Object.entries(condition) : [['$eq', condition] as const];
  let isExact = true;
  for (const [name, operand] of operators) isExact = gatherOperator(predicate, name, operand) && isExact;
  if (Object.keys(predicate).length > 0) fields.set(path, predicate);
  return isExact;
}

function gatherOperator(predicate: FieldPredicate, name: string, operand: unknown): boolean {
  switch (name) {
    case '$eq':
      return setEquals(predicate, [operand]);
    case '$in':
      return Array.isArray(operand) && setEquals(predicate, operand);
    case '$gt':
    case '$gte':
      if (!isBound(operand, predicate.lower)) return false;
      predicate.lower = narrower(predicate.lower, { value: operand, isInclusive: name === '$gte' }, 1);
      return isSameType(predicate);
    case '$lt':
    case '$lte':
      if (!isBound(operand, predicate.upper)) return false;
      predicate.upper = narrower(predicate.upper, { value: operand, isInclusive: name === '$lte' }, -1);
      return isSameType(predicate);
    case '$type':
      predicate.type = operand;
      return operand === 'string' && (predicate.equals?.every((value) => typeof value === 'string') ?? false);
    default:
      return false;
  }
}

function setEquals(predicate: FieldPredicate, values: readonly unknown[]): boolean {
  if (predicate.equals || !values.every(isKeyable)) return false;
  predicate.equals = values.map((value) => value ?? null);
  return !predicate.equals.includes(null);
}

/** Whether an operand can limit the keys; the matcher handles a second bound of another type. */
function isBound(operand: unknown, known: Bound | undefined): boolean {
  if (operand === null || operand === undefined || !isKeyable(operand)) return false;
  return known === undefined || kind(known.value) === kind(operand);
}

/** The stricter of two bounds on the same end; `side` is 1 for lower bounds. */
function narrower(known: Bound | undefined, bound: Bound, side: 1 | -1): Bound {
  if (!known) return bound;
  const order = compareValues(bound.value, known.value) * side;
  if (order === 0) return known.isInclusive ? bound : known;
  return order > 0 ? bound : known;
}

/** Bounds of different types can never both hold; the matcher rejects such documents. */
function isSameType({ lower, upper }: FieldPredicate): boolean {
  return !lower || !upper || kind(lower.value) === kind(upper.value);
}

function kind(value: unknown): string {
  return value instanceof Date ? 'date' : (bsonType(value) ?? typeof value);
}

const KEYABLE_TYPES = new Set(['ObjectId', 'Binary', 'Long', 'Int32', 'Double']);

/** Arrays and documents are compared as a whole, but the keys of an array are those of its elements. */
function isKeyable(value: unknown): boolean {
  if (value === null || value === undefined || value instanceof Date) return true;
  if (typeof value === 'number') return !Number.isNaN(value);
  if (typeof value !== 'object') return true;
  return KEYABLE_TYPES.has(bsonType(value) ?? '');
}

/**
 * Compiles query filters to predicates, following MongoDB's rules for arrays, null, missing fields and types.
 * Unsupported features are refused at compile time, never silently ignored.
 */
import { type Document, isDocument, isOperators } from './bson-values.ts';
import { compareValues, equalValues, isArrayIndex, ownValue, typeByte } from './keys.ts';
import { pipelines } from './pipelines.ts';
import { StoreError, unsupported } from './store-error.ts';
import { typePredicate } from './type-names.ts';

/** True if a document matches the filter. */
export type Matcher = (document: Document) => boolean;
/** Tests one value found at a path; `undefined` represents a missing field. */
type ValuePredicate = (value: unknown) => boolean;

/**
 * Compiles a filter. Throws `BadValue` if it is malformed and `CommandNotSupported` for features the embedded
 * database lacks.
 */
export function compileFilter(filter: Document): Matcher {
  const parts = Object.entries(filter).map(([name, condition]) =>
    name.startsWith('$') ? logical(name, condition) : fieldMatcher(name, condition),
  );
  const only = parts[0];
  if (only && parts.length === 1) return only;
  return (document) => parts.every((part) => part(document));
}

/** Compiles a condition on a single value, as used by `$pull` and array filters. */
export function compileCondition(condition: unknown): ValuePredicate {
  const matcher = fieldMatcher('v', condition);
  return (value) => matcher({ v: value });
}

function logical(name: string, condition: unknown): Matcher {
  if (name === '$comment') return () => true;
  if (name === '$expr') {
    const { Query } = pipelines();
    const query = new Query({ $expr: condition }, { scriptEnabled: false });
    return (document) => query.test(document);
  }
  if (name !== '$and' && name !== '$or' && name !== '$nor') throw unsupported(`the query operator ${name}`);
  const parts = filterList(name, condition).map(compileFilter);
  if (name === '$and') return (document) => parts.every((part) => part(document));
  if (name === '$or') return (document) => parts.some((part) => part(document));
  return (document) => !parts.some((part) => part(document));
}

function filterList(name: string, condition: unknown): Document[] {
  if (!Array.isArray(condition) || condition.length === 0 || !condition.every(isDocument)) {
    throw new StoreError('BadValue', `${name} must be a nonempty array of filters`);
  }
  return condition;
}

function fieldMatcher(path: string, condition: unknown): Matcher {
  const segments = path.split('.');
  if (!isOperators(condition)) {
    if (isDocument(condition) && Object.keys(condition).some((key) => key.startsWith('$'))) {
      throw new StoreError('BadValue', `operators and fields are mixed in the condition on ${path}`);
    }
    return operator(segments, condition instanceof RegExp ? '$regex' : '$eq', condition, {});
  }
  const parts = Object.entries(condition)
    .filter(([name]) => name !== '$options' && name !== '$comment')
    .map(([name, operand]) => operator(segments, name, operand, condition));
  return (document) => parts.every((part) => part(document));
}

/** Builds an operator's matcher for the values at a path. */
type OperatorMaker = (segments: readonly string[], operand: unknown, siblings: Document) => Matcher;

const OPERATORS: Readonly<Record<string, OperatorMaker>> = {
  $eq: (segments, operand) => anyValue(segments, equals(operand)),
  $ne: (segments, operand) => negate(anyValue(segments, equals(operand))),
  $in: (segments, operand) => anyValue(segments, oneOf('$in', operand)),
  $nin: (segments, operand) => negate(anyValue(segments, oneOf('$nin', operand))),
  $gt: (segments, operand) =>
    anyValue(
      segments,
      compareWith(operand, (order) => order > 0, false),
    ),
  $gte: (segments, operand) =>
    anyValue(
      segments,
      compareWith(operand, (order) => order >= 0, true),
    ),
  $lt: (segments, operand) =>
    anyValue(
      segments,
      compareWith(operand, (order) => order < 0, false),
    ),
  $lte: (segments, operand) =>
    anyValue(
      segments,
      compareWith(operand, (order) => order <= 0, true),
    ),
  $exists: (segments, operand) => {
    const wanted = operand !== false && operand !== 0;
    return (document) => leaves(document, segments).some((value) => value !== undefined) === wanted;
  },
  $type: (segments, operand) => anyValue(segments, typePredicate(operand)),
  $regex: (segments, operand, siblings) => anyValue(segments, regex(operand, siblings['$options'])),
  $not: (segments, operand) => negate(fieldMatcher(segments.join('.'), operand)),
  $mod: (segments, operand) => anyValue(segments, modulo(operand)),
  $size: (segments, operand) => (document) =>
    leaves(document, segments).some((value) => Array.isArray(value) && value.length === operand),
  $all: (segments, operand) => all(segments, operand),
  $elemMatch: (segments, operand) => {
    const matches = elementMatcher(operand);
    return (document) =>
      leaves(document, segments).some((value) => Array.isArray(value) && value.some(matches));
  },
};

function operator(segments: readonly string[], name: string, operand: unknown, siblings: Document): Matcher {
  const make = OPERATORS[name];
  if (!make || !Object.hasOwn(OPERATORS, name)) throw unsupported(`the query operator ${name}`);
  return make(segments, operand, siblings);
}

function negate(matcher: Matcher): Matcher {
  return (document) => !matcher(document);
}

/**
 * Compiles an `$elemMatch` condition for one element: operators apply to the element itself, anything else is
 * a filter on it.
 */
export function elementMatcher(condition: unknown): ValuePredicate {
  if (!isDocument(condition)) throw new StoreError('BadValue', '$elemMatch needs an object');
  const isOnElement =
    isOperators(condition) &&
    !Object.keys(condition).some((key) => key === '$and' || key === '$or' || key === '$nor');
  if (isOnElement) return compileCondition(condition);
  const matcher = compileFilter(condition);
  return (element) => isDocument(element) && matcher(element);
}

function all(segments: readonly string[], operand: unknown): Matcher {
  if (!Array.isArray(operand)) throw new StoreError('BadValue', '$all needs an array');
  const parts = operand.map((wanted) => {
    if (isOperators(wanted) && '$elemMatch' in wanted)
      return operator(segments, '$elemMatch', wanted['$elemMatch'], {});
    return operator(segments, wanted instanceof RegExp ? '$regex' : '$eq', wanted, {});
  });
  return (document) => parts.length > 0 && parts.every((part) => part(document));
}

function equals(operand: unknown): ValuePredicate {
  if (operand === null || operand === undefined) return (value) => value === null || value === undefined;
  return (value) => value !== undefined && value !== null && equalValues(value, operand);
}

function oneOf(name: string, operand: unknown): ValuePredicate {
  if (!Array.isArray(operand)) throw new StoreError('BadValue', `${name} needs an array`);
  const scalars = new Set(operand.filter((wanted) => typeof wanted === 'string'));
  const others = operand
    .filter((wanted) => typeof wanted !== 'string')
    .map((wanted) => (wanted instanceof RegExp ? regex(wanted, undefined) : equals(wanted)));
  return (value) =>
    (typeof value === 'string' && scalars.has(value)) || others.some((matches) => matches(value));
}

/** Compares only values of the operand's own type; null equals a missing field. */
function compareWith(
  operand: unknown,
  accept: (order: number) => boolean,
  acceptsEqual: boolean,
): ValuePredicate {
  if (operand === null) return (value) => acceptsEqual && (value === null || value === undefined);
  if (operand instanceof RegExp)
    throw new StoreError('BadValue', 'a regular expression cannot be compared by order');
  const type = typeByte(operand);
  const isNotANumber = (value: unknown) => typeof value === 'number' && Number.isNaN(value);
  if (isNotANumber(operand)) return (value) => acceptsEqual && isNotANumber(value);
  return (value) =>
    value !== undefined &&
    !isNotANumber(value) &&
    typeByte(value) === type &&
    accept(compareValues(value, operand));
}

function regex(operand: unknown, options: unknown): ValuePredicate {
  const source = operand instanceof RegExp ? operand.source : typeof operand === 'string' ? operand : null;
  if (source === null) throw new StoreError('BadValue', '$regex needs a regular expression or a string');
  const flags =
    typeof options === 'string'
      ? options
      : operand instanceof RegExp
        ? operand.flags.replace(/[gy]/g, '')
        : '';
  if (/[^imsu]/.test(flags)) throw unsupported(`the regular expression option ${flags}`);
  const pattern = new RegExp(source, flags);
  return (value) =>
    typeof value === 'string' ? pattern.test(value) : value instanceof RegExp && value.source === source;
}

function modulo(operand: unknown): ValuePredicate {
  const [divisor, remainder] = Array.isArray(operand) ? operand.map(Number) : [];
  if (!divisor || remainder === undefined)
    throw new StoreError('BadValue', '$mod needs a divisor and a remainder');
  return (value) => typeof value === 'number' && Math.trunc(value) % divisor === remainder;
}

/**
 * True if a value at the path, or an element of an array there, meets the predicate. An array that is itself
 * an element of an array is not searched.
 */
function anyValue(segments: readonly string[], predicate: ValuePredicate): Matcher {
  return (document) => {
    const places: unknown[] = [];
    for (const value of leaves(document, segments, places)) {
      if (predicate(value)) return true;
      if (Array.isArray(value) && value.some((element) => predicate(element))) return true;
    }
    return places.some((value) => predicate(value));
  };
}

/**
 * Values at a path. Arrays along the path fan out over their documents; a path that ends early yields
 * undefined. If the path ends with an array index, the element goes into `places`, if given.
 */
function leaves(document: Document, segments: readonly string[], places?: unknown[]): unknown[] {
  if (segments.length === 1) return [ownValue(document, segments[0] ?? '')];
  const found: unknown[] = [];
  gatherLeaves({ found, places: places ?? found, segments }, document, 0);
  return found;
}

interface LeafSearch {
  readonly found: unknown[];
  readonly places: unknown[];
  readonly segments: readonly string[];
}

function gatherLeaves(search: LeafSearch, value: unknown, at: number): void {
  const { found, places, segments } = search;
  const segment = segments[at];
  if (segment === undefined) found.push(value);
  else if (isDocument(value)) gatherLeaves(search, ownValue(value, segment), at + 1);
  else if (Array.isArray(value)) {
    const isPlace = isArrayIndex(segment) && Number(segment) < value.length;
    if (isPlace && at === segments.length - 1) places.push(value[Number(segment)]);
    else if (isPlace) gatherLeaves(search, value[Number(segment)], at + 1);
    for (const element of value) if (isDocument(element)) gatherLeaves(search, element, at);
  } else found.push(undefined);
}

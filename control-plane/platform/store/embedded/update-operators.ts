/**
 * Update operators, each applied to one place in a document. As in MongoDB, wrong types are errors; nothing
 * is coerced.
 */
import { Long } from 'bson';
import { bsonType, type Document, isDocument, isNumeric, isOperators } from './bson-values.ts';
import { compareValues, encodeKey, equalValues } from './keys.ts';
import { compileCondition, elementMatcher } from './matcher.ts';
import { sortKey } from './scan.ts';
import { StoreError, unsupported } from './store-error.ts';
import type { Place } from './update-paths.ts';

/** Input of an update operator. */
interface OperatorInput {
  readonly place: Place;
  readonly operand: unknown;
  readonly path: string;
  /** Wall time of the update. */
  readonly nowMs: number;
}

/** An update operator. */
export interface UpdateOperator {
  /** Whether missing documents along the path are created. */
  readonly creates: boolean;
  apply(input: OperatorInput): void;
}

/** All operators except `$setOnInsert` and `$rename`, which affect the whole update. */
export const UPDATE_OPERATORS: Readonly<Record<string, UpdateOperator>> = {
  $set: { creates: true, apply: ({ place, operand }) => place.write(operand) },
  $unset: { creates: false, apply: ({ place }) => place.remove() },
  $inc: { creates: true, apply: (input) => arithmetic(input, 'add') },
  $mul: { creates: true, apply: (input) => arithmetic(input, 'multiply') },
  $bit: { creates: true, apply: bitwise },
  $min: { creates: true, apply: ({ place, operand }) => keepIf(place, operand, (order) => order < 0) },
  $max: { creates: true, apply: ({ place, operand }) => keepIf(place, operand, (order) => order > 0) },
  $currentDate: { creates: true, apply: currentDate },
  $push: { creates: true, apply: push },
  $addToSet: { creates: true, apply: addToSet },
  $pop: {
    creates: false,
    apply: (input) =>
      input.place.write(input.operand === -1 ? arrayAt(input).slice(1) : arrayAt(input).slice(0, -1)),
  },
  $pull: { creates: false, apply: pull },
  $pullAll: {
    creates: false,
    apply: (input) => {
      const unwanted = list('$pullAll', input.operand);
      input.place.write(
        arrayAt(input).filter((element) => !unwanted.some((value) => equalValues(element, value))),
      );
    },
  },
};

function arithmetic({ place, operand, path }: OperatorInput, kind: 'add' | 'multiply'): void {
  if (!isNumeric(operand))
    throw new StoreError('TypeMismatch', `Cannot ${kind} with a non-numeric argument: ${path}`);
  const current = place.read();
  if (current === undefined) place.write(kind === 'add' ? operand : 0);
  else if (isNumeric(current)) place.write(compute(current, operand, kind));
  else throw new StoreError('TypeMismatch', `Cannot ${kind} to a value of a non-numeric type at '${path}'`);
}

/** Uses doubles while the result is exact, 64-bit integers beyond that. */
function compute(left: unknown, right: unknown, kind: 'add' | 'multiply'): unknown {
  if (bsonType(left) === 'Decimal128' || bsonType(right) === 'Decimal128')
    throw unsupported('Decimal128 arithmetic');
  const [a, b] = [Number(String(left)), Number(String(right))];
  const result = kind === 'add' ? a + b : a * b;
  const isWhole = Number.isInteger(a) && Number.isInteger(b);
  const isExact = Number.isSafeInteger(a) && Number.isSafeInteger(b) && Number.isSafeInteger(result);
  if (!isWhole || isExact || (typeof left === 'number' && Math.abs(a) > 2 ** 63)) return result;
  const exact =
    kind === 'add'
      ? BigInt(String(left)) + BigInt(String(right))
      : BigInt(String(left)) * BigInt(String(right));
  if (BigInt.asIntN(64, exact) !== exact)
    throw new StoreError('BadValue', 'the result does not fit a 64-bit integer');
  return Long.fromBigInt(exact);
}

const BITWISE: Readonly<Record<string, (left: number, right: number) => number>> = {
  and: (left, right) => left & right,
  or: (left, right) => left | right,
  xor: (left, right) => left ^ right,
};

/** Of 32-bit integers; several operations are applied in their order. */
function bitwise({ place, operand, path }: OperatorInput): void {
  if (!isDocument(operand) || Object.keys(operand).length === 0)
    throw new StoreError('BadValue', `The $bit modifier needs operations and integers: ${path}`);
  const read = place.read();
  const current = read === undefined ? 0 : read;
  if (!isInt32(current))
    throw new StoreError('BadValue', `Cannot apply $bit to a value of non-integral type at '${path}'`);
  place.write(
    Object.entries(operand).reduce((bits, [name, value]) => {
      const operation = BITWISE[name];
      if (!operation)
        throw new StoreError('BadValue', `The $bit modifier only supports and, or, xor: ${name}`);
      if (!isInt32(value))
        throw new StoreError('BadValue', `The $bit modifier field must be an integer: ${path}`);
      return operation(bits, value);
    }, current),
  );
}

function isInt32(value: unknown): value is number {
  return typeof value === 'number' && (value | 0) === value;
}

function keepIf(place: Place, operand: unknown, accepts: (order: number) => boolean): void {
  const current = place.read();
  if (current === undefined || accepts(compareValues(operand, current))) place.write(operand);
}

function currentDate({ place, operand, nowMs }: OperatorInput): void {
  const isDate = operand === true || (isDocument(operand) && operand['$type'] === 'date');
  if (!isDate) throw unsupported('$currentDate as a timestamp');
  place.write(new Date(nowMs));
}

const PUSH_MODIFIERS = new Set(['$each', '$position', '$slice', '$sort']);

function push(input: OperatorInput): void {
  const { place, operand } = input;
  const array = [...arrayAt(input)];
  if (!isDocument(operand) || !('$each' in operand)) {
    place.write([...array, operand]);
    return;
  }
  const unknown = Object.keys(operand).find((name) => !PUSH_MODIFIERS.has(name));
  if (unknown !== undefined) throw new StoreError('BadValue', `Unrecognized clause in $push: ${unknown}`);
  const position = operand['$position'] === undefined ? array.length : Number(operand['$position']);
  array.splice(position, 0, ...list('$each', operand['$each']));
  if (operand['$sort'] !== undefined) array.sort(elementOrder(operand['$sort']));
  place.write(slice(array, operand['$slice']));
}

function slice(array: unknown[], size: unknown): unknown[] {
  if (size === undefined) return array;
  if (typeof size !== 'number' || !Number.isInteger(size))
    throw new StoreError('BadValue', '$slice must be an integer');
  return size < 0 ? array.slice(size) : array.slice(0, size);
}

function elementOrder(sort: unknown): (left: unknown, right: unknown) => number {
  if (!isDocument(sort)) return (left, right) => compareValues(left, right) * (Number(sort) < 0 ? -1 : 1);
  const spec = Object.fromEntries(Object.entries(sort).map(([path, direction]) => [path, Number(direction)]));
  const key = (element: unknown) => (isDocument(element) ? sortKey(element, spec) : encodeKey(element));
  return (left, right) => Buffer.compare(key(left), key(right));
}

function addToSet(input: OperatorInput): void {
  const { place, operand } = input;
  const array = [...arrayAt(input)];
  const added = isDocument(operand) && '$each' in operand ? list('$each', operand['$each']) : [operand];
  for (const value of added) if (!array.some((element) => equalValues(element, value))) array.push(value);
  place.write(array);
}

function pull(input: OperatorInput): void {
  const { place, operand } = input;
  const isUnwanted =
    isDocument(operand) && !isOperators(operand) ? elementMatcher(operand) : compileCondition(operand);
  place.write(arrayAt(input).filter((element) => !isUnwanted(element)));
}

function arrayAt({ place, path }: OperatorInput): readonly unknown[] {
  const value = place.read();
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new StoreError('BadValue', `The field '${path}' must be an array`);
  return value;
}

function list(name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new StoreError('BadValue', `The argument to ${name} must be an array`);
  return value;
}

/** True if the update consists of operators. Throws if it mixes operators and fields. */
export function isOperatorUpdate(update: Document): boolean {
  const names = Object.keys(update);
  const operators = names.filter((name) => name.startsWith('$'));
  if (operators.length > 0 && operators.length < names.length)
    throw new StoreError('FailedToParse', 'operators and fields are mixed in an update');
  return operators.length > 0;
}

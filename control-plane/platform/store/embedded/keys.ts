/**
 * Order-preserving keys: encoded keys compare bytewise as MongoDB compares the values (type order, then
 * value), so equality, ranges, sorts, and compound and descending indexes all become byte comparisons.
 */
import { binaryParts, bsonType, type Document, isDocument, objectIdBytes } from './bson-values.ts';
import { unsupported } from './store-error.ts';

/** The value under which an empty array is indexed and sorted: below null, equal to nothing. */
export const EMPTY_ARRAY: unique symbol = Symbol('empty array');

/** First byte of a key, in MongoDB's type order. */
export const TYPE = {
  minKey: 0x01,
  emptyArray: 0x04,
  null: 0x05,
  number: 0x10,
  string: 0x14,
  document: 0x18,
  array: 0x1c,
  binary: 0x20,
  objectId: 0x24,
  boolean: 0x28,
  date: 0x30,
  timestamp: 0x34,
  regex: 0x38,
  maxKey: 0x7f,
} as const;

const BSON_TYPES: Readonly<Record<string, number>> = {
  ObjectId: TYPE.objectId,
  Binary: TYPE.binary,
  Long: TYPE.number,
  Int32: TYPE.number,
  Double: TYPE.number,
  Timestamp: TYPE.timestamp,
  MinKey: TYPE.minKey,
  MaxKey: TYPE.maxKey,
};
const PRIMITIVE_TYPES: Readonly<Record<string, number>> = {
  undefined: TYPE.null,
  number: TYPE.number,
  bigint: TYPE.number,
  string: TYPE.string,
  boolean: TYPE.boolean,
};

/** The first byte of a value's key. Values of different types are never equal. */
export function typeByte(value: unknown): number {
  if (value === null) return TYPE.null;
  if (value === EMPTY_ARRAY) return TYPE.emptyArray;
  const primitive = PRIMITIVE_TYPES[typeof value];
  if (primitive !== undefined) return primitive;
  if (value instanceof Date) return TYPE.date;
  if (value instanceof RegExp) return TYPE.regex;
  if (Array.isArray(value)) return TYPE.array;
  const type = bsonType(value);
  if (type === undefined) return TYPE.document;
  const known = BSON_TYPES[type];
  if (known === undefined) throw unsupported(`comparing, sorting or indexing a value of type ${type}`);
  return known;
}

/** Encodes one value as a key; `direction` −1 inverts the order. */
export function encodeKey(value: unknown, direction: 1 | -1 = 1): Buffer {
  const chunks: Uint8Array[] = [];
  appendValue(chunks, value);
  const key = Buffer.concat(chunks);
  if (direction < 0) for (let index = 0; index < key.length; index++) key[index] = (key[index] ?? 0) ^ 0xff;
  return key;
}

/** The smallest key greater than every key starting with `prefix`. */
export function keyAfter(prefix: Uint8Array): Buffer {
  const key = Buffer.from(prefix);
  for (let index = key.length - 1; index >= 0; index--) {
    const byte = key[index] ?? 0;
    if (byte < 0xff) {
      key[index] = byte + 1;
      return key.subarray(0, index + 1);
    }
  }
  return LAST_KEY;
}

/** Greater than every key: no type byte is 0xff, even when inverted. */
export const LAST_KEY: Buffer = Buffer.from([0xff]);

/** Compares two values in MongoDB's order: negative, zero or positive. */
export function compareValues(left: unknown, right: unknown): number {
  if (typeof left === 'number' && typeof right === 'number' && !Number.isNaN(left) && !Number.isNaN(right))
    return left - right || 0;
  return Buffer.compare(encodeKey(left), encodeKey(right));
}

/**
 * True if MongoDB considers two values equal (1 and 1.0 are equal; documents with different field order are
 * not).
 */
export function equalValues(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left === 'string' || typeof right === 'string') return false;
  return compareValues(left, right) === 0;
}

/** Values an index stores for one path of a document; several if the path crosses an array. */
export interface PathValues {
  readonly values: readonly unknown[];
  readonly isMultikey: boolean;
}

/** Resolves a dotted path for an index or sort: arrays fan out, a missing field yields undefined. */
export function indexedValues(document: Document, segments: readonly string[]): PathValues {
  const values: unknown[] = [];
  let isMultikey = false;
  const fanOut = (array: readonly unknown[], visit: (element: unknown) => void) => {
    isMultikey = true;
    if (array.length === 0) values.push(EMPTY_ARRAY);
    else array.forEach(visit);
  };
  const walk = (value: unknown, at: number): void => {
    const segment = segments[at];
    if (segment === undefined) {
      if (Array.isArray(value)) fanOut(value, (element) => values.push(element));
      else values.push(value);
    } else if (!Array.isArray(value)) {
      walk(isDocument(value) ? ownValue(value, segment) : undefined, at + 1);
    } else if (isArrayIndex(segment)) {
      walk(value[Number(segment)], at + 1);
    } else fanOut(value, (element) => walk(element, at));
  };
  walk(document, 0);
  return { values, isMultikey };
}

/** A document's own field, never an inherited one. */
export function ownValue(document: Document, field: string): unknown {
  return Object.hasOwn(document, field) ? document[field] : undefined;
}

/** True for a path segment that can be an array index. */
export function isArrayIndex(segment: string): boolean {
  return /^\d{1,7}$/.test(segment);
}

const STRING_END = Buffer.from([0, 0]);
const LIST_END = Buffer.from([0]);

function appendValue(chunks: Uint8Array[], value: unknown): void {
  const type = typeByte(value);
  chunks.push(Buffer.from([type]));
  appendPayload(chunks, type, value);
}

function appendPayload(chunks: Uint8Array[], type: number, value: unknown): void {
  switch (type) {
    case TYPE.number:
      chunks.push(numberBytes(value as number));
      return;
    case TYPE.string:
      chunks.push(stringBytes(value as string), STRING_END);
      return;
    case TYPE.boolean:
      chunks.push(Buffer.from([value ? 1 : 0]));
      return;
    case TYPE.date:
      chunks.push(doubleBytes((value as Date).getTime()));
      return;
    case TYPE.objectId:
      chunks.push(objectIdBytes(value));
      return;
    case TYPE.binary:
      chunks.push(...binaryChunks(value));
      return;
    case TYPE.array:
      for (const element of value as unknown[]) appendValue(chunks, element);
      chunks.push(LIST_END);
      return;
    case TYPE.document:
      for (const [name, field] of Object.entries(value as Document)) appendField(chunks, name, field);
      chunks.push(LIST_END);
      return;
    case TYPE.timestamp:
    case TYPE.regex:
      chunks.push(stringBytes(String(value)), STRING_END);
      return;
    default:
  }
}

/** Fields are compared by type, then name, then value. */
function appendField(chunks: Uint8Array[], name: string, value: unknown): void {
  const type = typeByte(value);
  chunks.push(Buffer.from([type]), stringBytes(name), STRING_END);
  appendPayload(chunks, type, value);
}

/** Binaries are compared by length, then subtype, then bytes. */
function binaryChunks(value: unknown): Uint8Array[] {
  const { bytes, subtype } = binaryParts(value);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length);
  head[4] = subtype;
  return [head, bytes];
}

/**
 * Encodes the nearest double followed by the rounding difference, so that 64-bit integers beyond 2^53 stay
 * ordered and distinct.
 */
function numberBytes(value: number | bigint | { toString(): string }): Buffer {
  const key = Buffer.alloc(10);
  const nearest = typeof value === 'number' ? value : Number(value.toString());
  doubleBytes(nearest).copy(key);
  const lacking =
    typeof value === 'number' || Number.isSafeInteger(nearest) || !Number.isInteger(nearest)
      ? 0
      : Number(BigInt(value.toString()) - BigInt(nearest));
  key.writeUInt16BE(0x8000 + lacking, 8);
  return key;
}

function doubleBytes(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  // NaN sorts before all numbers.
  if (Number.isNaN(value)) return bytes;
  bytes.writeDoubleBE(value === 0 ? 0 : value);
  const first = bytes[0] ?? 0;
  if (first & 0x80) for (let index = 0; index < 8; index++) bytes[index] = (bytes[index] ?? 0) ^ 0xff;
  else bytes[0] = first ^ 0x80;
  return bytes;
}

/** UTF-8 with NUL bytes escaped, so that none can be taken for the terminator. */
function stringBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  if (!bytes.includes(0)) return bytes;
  const escaped: number[] = [];
  for (const byte of bytes) {
    escaped.push(byte);
    if (byte === 0) escaped.push(0xff);
  }
  return Buffer.from(escaped);
}

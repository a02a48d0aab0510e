/** BSON documents as plain objects, and type checks on their values. */
import { type Binary, deserialize, type ObjectId, serialize } from 'bson';
import { StoreError } from './store-error.ts';

/** A decoded document. Binary stays `Binary`; integers beyond 2^53 stay `Long`. */
export type Document = Record<string, unknown>;

/** MongoDB's limit for one document. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** Decodes stored or received bytes. */
export function decode(bytes: Uint8Array): Document {
  return deserialize(bytes, { promoteBuffers: false });
}

const received = new WeakMap<Document, Uint8Array>();

/** Decodes a document from a command and remembers its bytes. */
export function decodeReceived(bytes: Uint8Array): Document {
  const document = decode(bytes);
  received.set(document, bytes);
  return document;
}

/**
 * The bytes a document was received as, valid until the document is changed; undefined if it was created
 * here.
 */
export function receivedBytes(document: Document): Uint8Array | undefined {
  const bytes = received.get(document);
  if (bytes) requireSize(bytes);
  return bytes;
}

/** Encodes a document. Throws `BSONObjectTooLarge` beyond MongoDB's limit. */
export function encode(document: Document): Buffer {
  const bytes = serialize(document, { ignoreUndefined: true });
  requireSize(bytes);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function requireSize(bytes: Uint8Array): void {
  if (bytes.length > MAX_DOCUMENT_BYTES)
    throw new StoreError('BSONObjectTooLarge', `a document may have ${MAX_DOCUMENT_BYTES} bytes`);
}

/** The BSON class of a value, such as `ObjectId`; undefined for JavaScript types. */
export function bsonType(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null && '_bsontype' in value
    ? String(value._bsontype)
    : undefined;
}

/** True for an embedded document, i.e. not an array, date or BSON class. */
export function isDocument(value: unknown): value is Document {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Date) &&
    !(value instanceof RegExp) &&
    bsonType(value) === undefined
  );
}

/** True for a document that consists of operators, such as `{ $gt: 5 }`. */
export function isOperators(value: unknown): value is Document {
  if (!isDocument(value)) return false;
  const keys = Object.keys(value);
  return keys.length > 0 && keys.every((key) => key.startsWith('$'));
}

/** True for every numeric BSON type. */
export function isNumeric(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint' || NUMERIC_TYPES.has(bsonType(value) ?? '');
}

const NUMERIC_TYPES = new Set(['Long', 'Int32', 'Double', 'Decimal128']);

/** Bytes of an ObjectId. */
export function objectIdBytes(value: unknown): Uint8Array {
  return (value as ObjectId).id;
}

/** Bytes and subtype of a Binary. */
export function binaryParts(value: unknown): { readonly bytes: Uint8Array; readonly subtype: number } {
  const binary = value as Binary;
  return { bytes: binary.value(), subtype: binary.sub_type };
}

/**
 * Writes documents and their index keys. All checks of a document run before its first write, so a refused
 * document leaves no trace.
 */
import { ObjectId } from 'bson';
import { type Document, decode, encode, receivedBytes } from './bson-values.ts';
import type { Catalogue, Collection, Index } from './catalogue.ts';
import { encodeKey, indexedValues } from './keys.ts';
import type { Sqlite } from './sqlite.ts';
import { StoreError } from './store-error.ts';

/** Shared by all operations of the store. */
export interface Store {
  readonly sqlite: Sqlite;
  readonly catalogue: Catalogue;
}

/** A stored document as read from its table. */
export interface StoredRow {
  readonly rid: number;
  readonly bytes: Uint8Array;
}

/** Inserts a document, adding an `_id` if it has none, and returns it as stored. Throws `DuplicateKey`. */
export function insertDocument(store: Store, collection: Collection, given: Document): Document {
  const document = given['_id'] === undefined ? { _id: new ObjectId(), ...given } : idFirst(given);
  if (Array.isArray(document['_id'])) throw new StoreError('BadValue', "the '_id' field cannot be an array");
  const id = encodeKey(document['_id']);
  const bytes = receivedBytes(document) ?? encode(document);
  const keys = collection.indexes.map((index) => ({ index, keys: indexKeys(index, document) }));
  if (store.sqlite.get(`SELECT 1 AS found FROM ${collection.table} WHERE id=?`, id))
    throw duplicateKey(collection, collection.primary, document);
  for (const entry of keys) requireUnique(store, collection, { ...entry, document, rid: null });
  const rid = store.sqlite.run(`INSERT INTO ${collection.table}(id, doc) VALUES(?, ?)`, id, bytes);
  for (const entry of keys) addKeys(store, entry.index, entry.keys, rid);
  return document;
}

/** A stored document about to change, with its keys in the indexes that may be affected. */
export interface Replacement {
  readonly row: StoredRow;
  readonly keys: readonly { readonly index: Index; readonly before: IndexKeys }[];
}

/**
 * Records the keys of a document before it is changed in place. `touched` lists the top-level fields that may
 * change; null means any.
 */
export function beginReplacement(
  collection: Collection,
  row: StoredRow,
  old: Document,
  touched: ReadonlySet<string> | null,
): Replacement {
  const isConcerned = ({ roots }: Index) =>
    touched === null || roots === null || [...touched].some((field) => roots.has(field));
  return {
    row,
    keys: collection.indexes.filter(isConcerned).map((index) => ({ index, before: indexKeys(index, old) })),
  };
}

/** Replaces a stored document. Returns false if nothing changed. */
export function replaceDocument(
  store: Store,
  collection: Collection,
  { row, keys }: Replacement,
  document: Document,
): boolean {
  const bytes = encode(document);
  if (bytes.equals(row.bytes)) return false;
  const changes = keys
    .map(({ index, before }) => ({ index, before, after: indexKeys(index, document) }))
    .filter(({ before, after }) => !isSameKeys(before.keys, after.keys));
  for (const { index, after } of changes)
    requireUnique(store, collection, { index, keys: after, document, rid: row.rid });
  for (const { index, before, after } of changes) {
    removeKeys(store, index, before, row.rid);
    addKeys(store, index, after, row.rid);
  }
  store.sqlite.run(`UPDATE ${collection.table} SET doc=? WHERE rid=?`, bytes, row.rid);
  return true;
}

/** Removes a document and its index keys. */
export function removeDocument(store: Store, collection: Collection, row: StoredRow): void {
  const document = decode(row.bytes);
  for (const index of collection.indexes) removeKeys(store, index, indexKeys(index, document), row.rid);
  store.sqlite.run(`DELETE FROM ${collection.table} WHERE rid=?`, row.rid);
}

/** Adds all stored documents to a new index. Throws `DuplicateKey` if they violate a unique index. */
export function fillIndex(store: Store, collection: Collection, index: Index): void {
  const chunkRows = 500;
  for (let after = 0; ; ) {
    const rows = store.sqlite.all(
      `SELECT rid, doc FROM ${collection.table} WHERE rid>? ORDER BY rid LIMIT ?`,
      after,
      chunkRows,
    );
    for (const row of rows) {
      const document = decode(row['doc'] as Uint8Array);
      const rid = Number(row['rid']);
      const keys = indexKeys(index, document);
      requireUnique(store, collection, { index, keys, document, rid });
      addKeys(store, index, keys, rid);
      after = rid;
    }
    if (rows.length < chunkRows) return;
  }
}

interface IndexKeys {
  readonly keys: readonly Buffer[];
  readonly isMultikey: boolean;
}

/** The part of an index that determines a document's keys. */
export interface KeyedIndex extends Pick<Index, 'fields' | 'partial'> {
  readonly spec: Pick<Index['spec'], 'sparse'>;
}

/**
 * A document's keys in an index: none if a partial or sparse index excludes it, several if a field is an
 * array.
 */
export function indexKeys(index: KeyedIndex, document: Document): IndexKeys {
  if (index.partial && !index.partial(document)) return { keys: [], isMultikey: false };
  let combinations: Buffer[][] = [[]];
  let isMultikey = false;
  let hasField = false;
  for (const { segments, direction } of index.fields) {
    const found = indexedValues(document, segments);
    isMultikey ||= found.isMultikey;
    hasField ||= found.values.some((value) => value !== undefined);
    const encoded = found.values.map((value) => encodeKey(value, direction));
    combinations = combinations.flatMap((prefix) => encoded.map((key) => [...prefix, key]));
  }
  if (index.spec.sparse && !hasField) return { keys: [], isMultikey: false };
  const keys = combinations.map((parts) => Buffer.concat(parts));
  return { keys: isMultikey ? distinct(keys) : keys, isMultikey };
}

function distinct(keys: readonly Buffer[]): Buffer[] {
  return [...new Map(keys.map((key) => [key.toString('latin1'), key])).values()];
}

function isSameKeys(left: readonly Buffer[], right: readonly Buffer[]): boolean {
  return left.length === right.length && left.every((key, at) => right[at]?.equals(key));
}

function addKeys(store: Store, index: Index, { keys, isMultikey }: IndexKeys, rid: number): void {
  if (isMultikey) store.catalogue.markMultikey(index);
  for (const key of keys) store.sqlite.run(`INSERT INTO ${index.table}(k, rid) VALUES(?, ?)`, key, rid);
}

function removeKeys(store: Store, index: Index, { keys }: IndexKeys, rid: number): void {
  for (const key of keys) store.sqlite.run(`DELETE FROM ${index.table} WHERE k=? AND rid=?`, key, rid);
}

interface Entry {
  readonly index: Index;
  readonly keys: IndexKeys;
  readonly document: Document;
  /** Row allowed to hold the keys already; null for a new document. */
  readonly rid: number | null;
}

function requireUnique(store: Store, collection: Collection, { index, keys, document, rid }: Entry): void {
  if (!index.spec.unique) return;
  for (const key of keys.keys) {
    if (
      store.sqlite.get(`SELECT 1 AS found FROM ${index.table} WHERE k=? AND rid<>? LIMIT 1`, key, rid ?? -1)
    ) {
      throw duplicateKey(collection, index, document);
    }
  }
}

/** The error in MongoDB's wording; clients read `code`, `keyPattern` and `keyValue`. */
function duplicateKey(collection: Collection, index: Index, document: Document): StoreError {
  const keyValue = Object.fromEntries(
    index.fields.map(({ path, segments }) => [path, indexedValues(document, segments).values[0] ?? null]),
  );
  const message =
    `E11000 duplicate key error collection: ${collection.namespace} index: ` +
    `${index.spec.name} dup key: ${JSON.stringify(keyValue)}`;
  return new StoreError('DuplicateKey', message, { keyPattern: index.spec.key, keyValue });
}

function idFirst(document: Document): Document {
  for (const first in document) {
    if (first === '_id') return document;
    break;
  }
  const { _id, ...rest } = document;
  return { _id, ...rest };
}

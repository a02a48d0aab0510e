/**
 * The one database of a simulated fleet, in memory and called directly instead of over a socket, so that
 * virtual time decides when a command takes effect. Filters, updates, projections, sorts and the keys of
 * unique indexes are those of the embedded store; its documents are so few that lists hold them. A document
 * that is stored never changes: an update puts another one in its place.
 */
import { isDeepStrictEqual } from 'node:util';
import { Binary, deserialize, ObjectId, serialize } from 'bson';
import { systemClock } from '#base/clock.ts';
import type { Document } from '#control-plane/platform/store/embedded/bson-values.ts';
import {
  commandName,
  documentField,
  documentsField,
  listField,
  numberField,
  sortField,
  stringField,
} from '#control-plane/platform/store/embedded/command-fields.ts';
import { indexKeys, type KeyedIndex } from '#control-plane/platform/store/embedded/documents.ts';
import { equalValues, indexedValues } from '#control-plane/platform/store/embedded/keys.ts';
import { compileFilter } from '#control-plane/platform/store/embedded/matcher.ts';
import { compileProjection } from '#control-plane/platform/store/embedded/projection.ts';
import { sortKey } from '#control-plane/platform/store/embedded/scan.ts';
import { StoreError } from '#control-plane/platform/store/embedded/store-error.ts';
import {
  applyUpdate,
  documentOfUpsert,
  touchedFields,
  type UpdateRequest,
} from '#control-plane/platform/store/embedded/update.ts';
import type { Models } from '#control-plane/platform/store/models.ts';

/** A command or a reply, as the driver sends and reads it. */
export type Fields = Record<string, unknown>;

/** A database in memory. */
export interface StoreEngine {
  /** Runs one command atomically; throws the engine's error. */
  run(command: Fields): Fields;
}

interface Collection {
  readonly name: string;
  /** In the order of their insertion. */
  documents: readonly Document[];
  /** Its unique indexes. */
  readonly unique: readonly KeyedIndex[];
}

/** Opens an empty database with the unique indexes of these models. */
export function openEngine(models: readonly Models[keyof Models][]): StoreEngine {
  return new MemoryEngine(
    models.map(({ collection, schema }) => ({
      name: collection.collectionName,
      documents: [],
      unique: [
        ID_INDEX,
        ...schema.indexes().flatMap(([key, options]) => uniqueIndex(key as Fields, options)),
      ],
    })),
  );
}

const ID_INDEX: KeyedIndex = { spec: {}, fields: [fieldOf(['_id', 1])], partial: null };

function uniqueIndex(key: Fields, options: Fields): KeyedIndex[] {
  const { unique, sparse, partialFilterExpression: partial } = options;
  if (unique !== true) return [];
  return [
    {
      spec: { sparse: sparse === true },
      fields: Object.entries(key).map(fieldOf),
      partial: partial ? compileFilter(partial as Document) : null,
    },
  ];
}

function fieldOf([path, direction]: [string, unknown]): KeyedIndex['fields'][number] {
  return { path, segments: path.split('.'), direction: Number(direction) < 0 ? -1 : 1 };
}

class MemoryEngine implements StoreEngine {
  readonly #collections: ReadonlyMap<string, Collection>;

  constructor(collections: readonly Collection[]) {
    this.#collections = new Map(collections.map((collection) => [collection.name, collection]));
  }

  run(command: Fields): Fields {
    const name = commandName(command);
    const collection = this.#collections.get(String(command[name]));
    if (!collection) throw new Error(`the simulation has no collection ${String(command[name])}`);
    switch (name) {
      case 'find':
        return { documents: find(collection, command) };
      case 'count':
        return { n: matching(collection, documentField(command, 'query')).length };
      case 'distinct':
        return { values: distinct(collection, command) };
      case 'insert':
        return insertAll(collection, command);
      case 'update':
        return updateAll(collection, command);
      case 'delete':
        return removeAll(collection, command);
      case 'findandmodify':
        return findAndModify(collection, command);
      default:
        throw new Error(`the simulation has no command ${name}`);
    }
  }
}

function matching(collection: Collection, filter: Document, sort: Fields = {}): Document[] {
  const found = collection.documents.filter(compileFilter(filter));
  if (Object.keys(sort).length === 0 || found.length < 2) return found;
  const keyed = found.map((document) => ({ document, key: sortKey(document, sort as never) }));
  return keyed.sort((one, other) => Buffer.compare(one.key, other.key)).map(({ document }) => document);
}

function find(collection: Collection, command: Fields): Document[] {
  const project = compileProjection(documentField(command, 'projection'));
  const found = matching(collection, documentField(command, 'filter'), sortField(command, 'sort'));
  const skip = numberField(command, 'skip', 0);
  const limit = numberField(command, 'limit', 0);
  return found
    .slice(skip, limit === 0 ? undefined : skip + limit)
    .map((document) => received(project ? project(document) : document));
}

function distinct(collection: Collection, command: Fields): unknown[] {
  const segments = stringField(command, 'key').split('.');
  const values: unknown[] = [];
  for (const document of matching(collection, documentField(command, 'query')))
    for (const value of indexedValues(document, segments).values)
      if (
        value !== undefined &&
        typeof value !== 'symbol' &&
        !values.some((known) => equalValues(known, value))
      )
        values.push(value);
  return values.map(received);
}

function insertAll(collection: Collection, command: Fields): Fields {
  const { done, errors } = each(command, 'documents', (document) => insert(collection, document));
  return { n: done.length, ...errors };
}

function insert(collection: Collection, given: Document): Document {
  const document = given['_id'] === undefined ? { _id: new ObjectId(), ...given } : given;
  requireUnique(collection, document, { old: null, touched: null });
  collection.documents = [...collection.documents, document];
  return document;
}

function updateAll(collection: Collection, command: Fields): Fields {
  const { done, errors } = each(command, 'updates', (entry) =>
    update(collection, {
      filter: documentField(entry, 'q'),
      update: entry['u'] as Document,
      isMulti: entry['multi'] === true,
      isUpsert: entry['upsert'] === true,
      arrayFilters: listField(entry, 'arrayFilters'),
      sort: sortField(entry, 'sort'),
      nowMs: systemClock.wallTime(),
    }),
  );
  const upserted = done.filter(({ isInserted }) => isInserted).map(({ after }) => ({ _id: after?.['_id'] }));
  return {
    n: done.reduce((total, { matched }) => total + matched, upserted.length),
    nModified: done.reduce((total, { modified }) => total + modified, 0),
    ...(upserted.length > 0 && { upserted }),
    ...errors,
  };
}

function findAndModify(collection: Collection, command: Fields): Fields {
  const project = compileProjection(documentField(command, 'fields')) ?? ((document) => document);
  const { before, after } = update(collection, {
    filter: received(documentField(command, 'query')),
    update: received(command['update'] as Document),
    isMulti: false,
    isUpsert: command['upsert'] === true,
    arrayFilters: [],
    sort: sortField(command, 'sort'),
    nowMs: systemClock.wallTime(),
  });
  const shown = command['new'] === true ? after : before;
  return { value: shown && received(project(shown)) };
}

interface Updated {
  readonly matched: number;
  readonly modified: number;
  readonly isInserted: boolean;
  readonly before: Document | null;
  readonly after: Document | null;
}

function update(collection: Collection, request: UpdateRequest): Updated {
  const found = matching(collection, request.filter, request.sort).slice(0, request.isMulti ? undefined : 1);
  if (found.length === 0 && request.isUpsert) {
    const after = insert(collection, documentOfUpsert(request));
    return { matched: 0, modified: 0, isInserted: true, before: null, after };
  }
  const touched = touchedFields(request.update);
  let modified = 0;
  let after: Document | null = null;
  for (const before of found) {
    after = applyUpdate(copyOf(before, touched), request, false);
    if (isSame(before, after, touched)) continue;
    requireUnique(collection, after, { old: before, touched });
    const [old, changed] = [before, after];
    collection.documents = collection.documents.map((each) => (each === old ? changed : each));
    modified += 1;
  }
  return { matched: found.length, modified, isInserted: false, before: found.at(-1) ?? null, after };
}

/** A copy of which these fields may be changed; null: all. */
function copyOf(document: Document, touched: ReadonlySet<string> | null): Document {
  if (!touched) return received(document);
  const copy = { ...document };
  for (const field of touched) if (field in copy) copy[field] = received(copy[field]);
  return copy;
}

function isSame(before: Document, after: Document, touched: ReadonlySet<string> | null): boolean {
  if (!touched) return isDeepStrictEqual(before, after);
  return [...touched].every((field) => isDeepStrictEqual(before[field], after[field]));
}

function removeAll(collection: Collection, command: Fields): Fields {
  const { done, errors } = each(command, 'deletes', (entry) => {
    const limit = numberField(entry, 'limit', 0);
    const removed = matching(collection, documentField(entry, 'q')).slice(0, limit === 0 ? undefined : limit);
    collection.documents = collection.documents.filter((document) => !removed.includes(document));
    return removed.length;
  });
  return { n: done.reduce((total, removed) => total + removed, 0), ...errors };
}

/** The change of a document: `touched` are the fields that may differ from `old`; null: all. */
interface Change {
  readonly old: Document | null;
  readonly touched: ReadonlySet<string> | null;
}

function requireUnique(
  { name, documents, unique }: Collection,
  document: Document,
  { old, touched }: Change,
): void {
  for (const index of unique) {
    // A partial index depends on other fields, too.
    const isConcerned =
      touched === null ||
      index.partial !== null ||
      index.fields.some(({ segments: [root = ''] }) => touched.has(root));
    if (!isConcerned) continue;
    const keys = indexKeys(index, document).keys;
    const isTaken = (other: Document) =>
      other !== old && indexKeys(index, other).keys.some((key) => keys.some((own) => own.equals(key)));
    if (keys.length > 0 && documents.some(isTaken)) {
      const paths = index.fields.map(({ path }) => path).join();
      throw new StoreError('DuplicateKey', `E11000 duplicate key error collection: ${name} index: ${paths}`);
    }
  }
}

/** Runs a command's statements in order; an ordered command stops at the first error. */
function each<T>(command: Fields, field: string, run: (statement: Document) => T) {
  const done: T[] = [];
  const writeErrors: Fields[] = [];
  for (const [index, statement] of documentsField(command, field).map(received).entries()) {
    try {
      done.push(run(statement));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      writeErrors.push({ index, code: error.code, errmsg: error.message, ...error.details });
      if (command['ordered'] !== false) break;
    }
  }
  return { done, errors: writeErrors.length > 0 ? { writeErrors } : {} };
}

/**
 * A value as the other side receives it over the wire: the database and the product share no objects. Values
 * that are neither plain nor frequent take the way over BSON.
 */
function received<T>(value: T): T {
  return copied(value) as T;
}

function copied(value: unknown): unknown {
  if (value === undefined) return null;
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? overBson(value) : value;
  if (Array.isArray(value)) return value.map(copied);
  // Most of what there is to copy.
  if (isPlain(value)) return copiedFields(value as Fields);
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof Uint8Array) return new Binary(Buffer.from(value));
  // Nobody changes either.
  if (value instanceof Binary || value instanceof ObjectId) return value;
  return overBson(value);
}

function copiedFields(value: Fields): Fields {
  const copy: Fields = {};
  for (const name in value) copy[name] = copied(value[name]);
  return copy;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function overBson(value: unknown): unknown {
  return deserialize(serialize({ value }, { ignoreUndefined: false }))['value'];
}

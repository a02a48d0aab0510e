/**
 * Catalogue of collections and indexes. Collection `<id>` is a table `d<id>` of documents; index `<id>` is a
 * table `x<id>` of keys and row numbers.
 */
import { type Document, decode, encode, isDocument, isOperators } from './bson-values.ts';
import { compileFilter, type Matcher } from './matcher.ts';
import type { Sqlite } from './sqlite.ts';
import { StoreError, unsupported } from './store-error.ts';

interface IndexField {
  readonly path: string;
  readonly segments: readonly string[];
  readonly direction: 1 | -1;
}

/** An index as defined in `createIndexes`. */
interface IndexSpec {
  readonly name: string;
  readonly key: Readonly<Record<string, 1 | -1>>;
  readonly unique?: boolean;
  readonly sparse?: boolean;
  readonly partialFilterExpression?: Document;
  readonly expireAfterSeconds?: number;
}

/** An index in use. */
export interface Index {
  /** Table and column that hold the keys. */
  readonly table: string;
  readonly keyColumn: 'k' | 'id';
  readonly spec: IndexSpec;
  readonly fields: readonly IndexField[];
  readonly partial: Matcher | null;
  /** Top-level fields that determine the keys; null if the filter's fields are unknown. */
  readonly roots: ReadonlySet<string> | null;
  /** Some document has more than one key, so the keys provide neither order nor counts. */
  isMultikey: boolean;
}

/** A collection in use. */
export interface Collection {
  readonly id: number;
  /** `<database>.<name>` */
  readonly namespace: string;
  readonly table: string;
  /** The `_id` keys, stored in the document table itself. */
  readonly primary: Index;
  readonly indexes: Index[];
}

/** The collections as seen by one connection; the reader reloads them after changes by the writer. */
export class Catalogue {
  readonly #sqlite: Sqlite;
  #collections = new Map<string, Collection>();
  #version = -1;

  constructor(sqlite: Sqlite) {
    this.#sqlite = sqlite;
  }

  /** Creates the catalogue tables in a new file. */
  prepare(): void {
    this.#sqlite.alter(`CREATE TABLE IF NOT EXISTS collections(id INTEGER PRIMARY KEY, namespace TEXT NOT NULL UNIQUE);
      CREATE TABLE IF NOT EXISTS indexes(id INTEGER PRIMARY KEY, collection INTEGER NOT NULL, spec BLOB NOT NULL, multikey INTEGER NOT NULL DEFAULT 0);`);
    this.#sqlite.commit();
  }

  /** Reloads the catalogue if its version in the file has changed. */
  refresh(): void {
    const version = Number(this.#sqlite.pragma('user_version')?.['user_version'] ?? 0);
    if (version !== this.#version) this.reload(version);
  }

  /** Reloads the whole catalogue, for instance after a rollback. */
  reload(version = Number(this.#sqlite.pragma('user_version')?.['user_version'] ?? 0)): void {
    const byId = new Map<number, Collection>();
    this.#collections = new Map();
    for (const row of this.#sqlite.all('SELECT id, namespace FROM collections ORDER BY id')) {
      const collection = collectionOf(Number(row['id']), String(row['namespace']));
      byId.set(collection.id, collection);
      this.#collections.set(collection.namespace, collection);
    }
    for (const row of this.#sqlite.all('SELECT id, collection, spec, multikey FROM indexes ORDER BY id')) {
      const spec = decode(row['spec'] as Uint8Array) as unknown as IndexSpec;
      byId
        .get(Number(row['collection']))
        ?.indexes.push(indexOf(Number(row['id']), spec, row['multikey'] === 1));
    }
    this.#version = version;
  }

  /** A collection; undefined if nothing has ever been written to it. */
  find(namespace: string): Collection | undefined {
    return this.#collections.get(namespace);
  }

  /** All collections of a database, in order of creation. */
  inDatabase(database: string): Collection[] {
    return [...this.#collections.values()].filter((collection) =>
      collection.namespace.startsWith(`${database}.`),
    );
  }

  /** All collections. */
  all(): Collection[] {
    return [...this.#collections.values()];
  }

  /** Returns a collection, creating it if necessary. */
  open(namespace: string): Collection {
    const known = this.#collections.get(namespace);
    if (known) return known;
    if (!/^[^.$\0]+\.[^$\0]+$/.test(namespace))
      throw new StoreError('BadValue', `invalid namespace: ${namespace}`);
    const id = this.#sqlite.run('INSERT INTO collections(namespace) VALUES(?)', namespace);
    this.#sqlite.alter(
      `CREATE TABLE d${id}(rid INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, doc BLOB NOT NULL)`,
    );
    const collection = collectionOf(id, namespace);
    this.#collections.set(namespace, collection);
    this.#changed();
    return collection;
  }

  /** Removes a collection and all its contents. */
  drop(collection: Collection): void {
    for (const index of [...collection.indexes]) this.dropIndex(collection, index);
    this.#sqlite.alter(`DROP TABLE ${collection.table}`);
    this.#sqlite.run('DELETE FROM collections WHERE id=?', collection.id);
    this.#collections.delete(collection.namespace);
    this.#changed();
  }

  /** Adds an empty index for the caller to fill; returns null if an identical one exists. */
  addIndex(collection: Collection, requested: Document): Index | null {
    const spec = indexSpec(requested);
    if (isSameKey(spec, collection.primary.spec)) return null;
    for (const existing of collection.indexes) if (isSameIndex(existing.spec, spec)) return null;
    const id = this.#sqlite.run(
      'INSERT INTO indexes(collection, spec) VALUES(?, ?)',
      collection.id,
      encode(spec as unknown as Document),
    );
    this.#sqlite.alter(
      `CREATE TABLE x${id}(k BLOB NOT NULL, rid INTEGER NOT NULL, PRIMARY KEY(k, rid)) WITHOUT ROWID`,
    );
    const index = indexOf(id, spec, false);
    collection.indexes.push(index);
    this.#changed();
    return index;
  }

  dropIndex(collection: Collection, index: Index): void {
    this.#sqlite.alter(`DROP TABLE ${index.table}`);
    this.#sqlite.run('DELETE FROM indexes WHERE id=?', Number(index.table.slice(1)));
    collection.indexes.splice(collection.indexes.indexOf(index), 1);
    this.#changed();
  }

  /** Records that some document has more than one key in this index. */
  markMultikey(index: Index): void {
    if (index.isMultikey) return;
    index.isMultikey = true;
    this.#sqlite.run('UPDATE indexes SET multikey=1 WHERE id=?', Number(index.table.slice(1)));
    this.#changed();
  }

  /**
   * The version is stored in the file within the transaction, so readers see it change together with the
   * tables.
   */
  #changed(): void {
    this.#version += 1;
    this.#sqlite.alter(`PRAGMA user_version=${this.#version}`);
  }
}

function collectionOf(id: number, namespace: string): Collection {
  const primary: Index = {
    table: `d${id}`,
    keyColumn: 'id',
    spec: { name: '_id_', key: { _id: 1 }, unique: true },
    fields: [{ path: '_id', segments: ['_id'], direction: 1 }],
    partial: null,
    roots: new Set(['_id']),
    isMultikey: false,
  };
  return { id, namespace, table: `d${id}`, primary, indexes: [] };
}

function indexOf(id: number, spec: IndexSpec, isMultikey: boolean): Index {
  const fields = Object.entries(spec.key).map(([path, direction]) => ({
    path,
    segments: path.split('.'),
    direction,
  }));
  const partial = spec.partialFilterExpression ? compileFilter(spec.partialFilterExpression) : null;
  const paths = [...Object.keys(spec.key), ...Object.keys(spec.partialFilterExpression ?? {})];
  const roots = paths.some((path) => path.startsWith('$')) ? null : new Set(paths.map(rootOf));
  return { table: `x${id}`, keyColumn: 'k', spec, fields, partial, roots, isMultikey };
}

/** The top-level field of a dotted path. */
export function rootOf(path: string): string {
  const end = path.indexOf('.');
  return end < 0 ? path : path.slice(0, end);
}

const KNOWN_OPTIONS = new Set([
  'v',
  'name',
  'key',
  'unique',
  'sparse',
  'partialFilterExpression',
  'expireAfterSeconds',
  'background',
  'ns',
]);

/** Validates an index request; refuses index kinds and options that would otherwise be ignored. */
function indexSpec(requested: Document): IndexSpec {
  const { name, key, unique, sparse, partialFilterExpression, expireAfterSeconds } = requested;
  const unknown = Object.keys(requested).find((option) => !KNOWN_OPTIONS.has(option));
  if (unknown !== undefined) throw unsupported(`the index option ${unknown}`);
  if (typeof name !== 'string' || !isDocument(key) || Object.keys(key).length === 0) {
    throw new StoreError('CannotCreateIndex', 'an index needs a name and a key');
  }
  const fields = Object.entries(key).map(([path, direction]) => [path, fieldDirection(path, direction)]);
  if (partialFilterExpression !== undefined && !isDocument(partialFilterExpression)) {
    throw new StoreError('CannotCreateIndex', 'partialFilterExpression must be an object');
  }
  if (partialFilterExpression) requirePartialFilter(partialFilterExpression);
  return {
    name,
    key: Object.fromEntries(fields),
    ...(unique === true && { unique }),
    ...(sparse === true && { sparse }),
    ...(partialFilterExpression && { partialFilterExpression }),
    ...(expireAfterSeconds !== undefined && { expireAfterSeconds: Number(expireAfterSeconds) }),
  };
}

const PARTIAL_OPERATORS = new Set(['$eq', '$gt', '$gte', '$lt', '$lte', '$in', '$type']);

/** Refuses partial index filters that MongoDB refuses. */
function requirePartialFilter(filter: Document): void {
  compileFilter(filter);
  for (const [name, condition] of Object.entries(filter)) {
    if (name === '$and' || name === '$or') (condition as Document[]).forEach(requirePartialFilter);
    else if (name.startsWith('$') || condition instanceof RegExp) throw notInPartial(name);
    else if (isOperators(condition))
      for (const [operator, operand] of Object.entries(condition)) requirePartialOperator(operator, operand);
  }
}

function requirePartialOperator(operator: string, operand: unknown): void {
  const isAllowed =
    operator === '$exists' ? operand !== false && operand !== 0 : PARTIAL_OPERATORS.has(operator);
  const hasPattern =
    operand instanceof RegExp || (Array.isArray(operand) && operand.some((item) => item instanceof RegExp));
  if (!isAllowed || hasPattern) throw notInPartial(operator);
}

function notInPartial(name: string): StoreError {
  return new StoreError('CannotCreateIndex', `Expression not supported in partial index: ${name}`);
}

function fieldDirection(path: string, direction: unknown): 1 | -1 {
  if (typeof direction !== 'number') throw unsupported(`an index of kind ${String(direction)}`);
  if (path.includes('$**')) throw unsupported('a wildcard index');
  return direction < 0 ? -1 : 1;
}

function isSameKey(left: IndexSpec, right: IndexSpec): boolean {
  return JSON.stringify(left.key) === JSON.stringify(right.key);
}

/** True if an identical index exists. Throws if a different one has its name or key. */
function isSameIndex(existing: IndexSpec, wanted: IndexSpec): boolean {
  const isSame = JSON.stringify({ ...existing, name: '' }) === JSON.stringify({ ...wanted, name: '' });
  if (existing.name === wanted.name) {
    if (isSame) return true;
    throw new StoreError(
      'IndexKeySpecsConflict',
      `an index named ${wanted.name} exists with another key or other options`,
    );
  }
  const hasSameFilter =
    JSON.stringify(existing.partialFilterExpression) === JSON.stringify(wanted.partialFilterExpression);
  if (isSameKey(existing, wanted) && hasSameFilter) {
    throw new StoreError(
      'IndexOptionsConflict',
      `an index with the same key exists under another name: ${existing.name}`,
    );
  }
  return false;
}

/**
 * The one database of a simulated fleet: the engine of the embedded store in memory, called directly instead
 * of over a socket, so that virtual time decides when a command takes effect. Its few documents are kept
 * decoded for queries, most of which find nothing: the engine's matcher tests them, without its indexes.
 */
import { deserialize, serialize } from 'bson';
import { systemClock } from '#base/clock.ts';
import type { Document } from '#control-plane/platform/store/embedded/bson-values.ts';
import { Catalogue } from '#control-plane/platform/store/embedded/catalogue.ts';
import { CATALOGUE_COMMANDS } from '#control-plane/platform/store/embedded/catalogue-commands.ts';
import {
  documentField,
  namespaceOf,
  numberField,
  sortField,
} from '#control-plane/platform/store/embedded/command-fields.ts';
import { singleBatches } from '#control-plane/platform/store/embedded/cursors.ts';
import type { Store } from '#control-plane/platform/store/embedded/documents.ts';
import { compileFilter } from '#control-plane/platform/store/embedded/matcher.ts';
import { compileProjection } from '#control-plane/platform/store/embedded/projection.ts';
import { READ_COMMANDS } from '#control-plane/platform/store/embedded/read-commands.ts';
import { isCursorReply } from '#control-plane/platform/store/embedded/read-context.ts';
import { type ScannedRow, scan, sortKey } from '#control-plane/platform/store/embedded/scan.ts';
import { Sqlite } from '#control-plane/platform/store/embedded/sqlite.ts';
import { WRITE_COMMANDS } from '#control-plane/platform/store/embedded/write-commands.ts';
import type { Models } from '#control-plane/platform/store/models.ts';

/** A command or a reply, as the driver sends and reads it. */
export type Fields = Record<string, unknown>;

const DATABASE = 'fleet';

/** A database in memory. */
export interface StoreEngine {
  /** Runs one command atomically; throws the engine's error. */
  run(command: Fields): Fields;
  /** Removes every document; indexes stay. */
  clear(): void;
}

/** Opens an empty database with the indexes of these models. */
export function openEngine(models: readonly Models[keyof Models][]): StoreEngine {
  const sqlite = new Sqlite(':memory:', 'write');
  const catalogue = new Catalogue(sqlite);
  catalogue.prepare();
  catalogue.reload();
  const engine = new MemoryEngine({ sqlite, catalogue });
  for (const { collection, schema } of models)
    for (const [index, [key, options]] of schema.indexes().entries()) {
      const { background: _, ...given } = options as Fields;
      const spec = { key, name: `index-${index}`, ...given };
      engine.run({ createIndexes: collection.collectionName, indexes: [spec] });
    }
  return engine;
}

class MemoryEngine implements StoreEngine {
  readonly #store: Store;
  /** The documents of each collection, in the order of their insertion, until it is written to. */
  readonly #documents = new Map<string, readonly KeptRow[]>();
  /** What was known of the collection before. */
  readonly #before = new Map<string, ReadonlyMap<number, KeptRow>>();

  constructor(store: Store) {
    this.#store = store;
  }

  run(given: Fields): Fields {
    const command = { ...given, $db: DATABASE };
    const name = (Object.keys(given)[0] ?? '').toLowerCase();
    if (name === 'find') return { documents: this.#find(command) };
    if (name === 'count') return { n: this.#matching(command, 'query').length };
    const write = WRITE_COMMANDS.get(name);
    if (write) {
      this.#documents.delete(namespaceOf(command));
      return received(write({ store: this.#store, clock: systemClock }, received(command)) as Fields);
    }
    const read = READ_COMMANDS.get(name);
    const reply = read
      ? read({ store: this.#store, cursors: singleBatches }, received(command))
      : CATALOGUE_COMMANDS.get(name)?.(this.#store, received(command));
    if (!reply || isCursorReply(reply)) throw new Error(`the simulation has no command ${name}`);
    return received(reply);
  }

  clear(): void {
    for (const namespace of this.#before.keys())
      if (this.#rowsOf(namespace).length > 0)
        this.run({ delete: namespace.slice(DATABASE.length + 1), deletes: [{ q: {}, limit: 0 }] });
  }

  #find(command: Fields): Fields[] {
    const project = compileProjection(documentField(command, 'projection'));
    const sort = sortField(command, 'sort');
    let rows = this.#matching(command, 'filter');
    if (sort && Object.keys(sort).length > 0) {
      const keyed = rows.map((row) => ({ row, key: sortKey(row.document(), sort) }));
      rows = keyed.sort((one, other) => Buffer.compare(one.key, other.key)).map(({ row }) => row);
    }
    const skip = numberField(command, 'skip', 0);
    const limit = numberField(command, 'limit', 0);
    return rows
      .slice(skip, limit === 0 ? undefined : skip + limit)
      .map((row) => (project ? received(project(row.document())) : deserialize(row.bytes)));
  }

  #matching(command: Fields, field: 'filter' | 'query'): KeptRow[] {
    const matches = compileFilter(documentField(command, field));
    return this.#rowsOf(namespaceOf(command)).filter((row) => matches(row.document()));
  }

  #rowsOf(namespace: string): readonly KeptRow[] {
    const kept = this.#documents.get(namespace);
    if (kept) return kept;
    const before = this.#before.get(namespace);
    const collection = this.#store.catalogue.find(namespace);
    const rows = [...scan(this.#store, collection, { filter: {} })].map((row) => {
      const known = before?.get(row.rid);
      return known?.bytes.equals(row.bytes) ? known : new KeptRow(row);
    });
    this.#documents.set(namespace, rows);
    this.#before.set(namespace, new Map(rows.map((row) => [row.rid, row])));
    return rows;
  }
}

/** A document, decoded once. */
class KeptRow {
  readonly rid: number;
  readonly bytes: Buffer;
  readonly #read: () => Document;
  #document: Document | null = null;

  constructor({ rid, bytes, document }: ScannedRow) {
    this.rid = rid;
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#read = document;
  }

  document(): Document {
    this.#document ??= this.#read();
    return this.#document;
  }
}

/** As over the wire: the engine and the product share no objects. */
function received(fields: Fields): Fields {
  return deserialize(serialize(fields, { ignoreUndefined: false }), { promoteValues: true });
}

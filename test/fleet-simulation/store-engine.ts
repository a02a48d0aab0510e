/**
 * The one database of a simulated fleet: the engine of the embedded store in memory, called directly instead
 * of over a socket, so that virtual time decides when a command takes effect.
 */
import { deserialize, serialize } from 'bson';
import { systemClock } from '#base/clock.ts';
import { Catalogue } from '#control-plane/platform/store/embedded/catalogue.ts';
import { CATALOGUE_COMMANDS } from '#control-plane/platform/store/embedded/catalogue-commands.ts';
import { singleBatches } from '#control-plane/platform/store/embedded/cursors.ts';
import type { Store } from '#control-plane/platform/store/embedded/documents.ts';
import { READ_COMMANDS } from '#control-plane/platform/store/embedded/read-commands.ts';
import { isCursorReply } from '#control-plane/platform/store/embedded/read-context.ts';
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
  const store: Store = { sqlite, catalogue };
  const engine: StoreEngine = {
    run: (command) => runIn(store, command),
    clear() {
      for (const { collection } of models)
        engine.run({ delete: collection.collectionName, deletes: [{ q: {}, limit: 0 }] });
    },
  };
  for (const { collection, schema } of models)
    for (const [index, [key, options]] of schema.indexes().entries()) {
      const { background: _, ...given } = options as Fields;
      const spec = { key, name: `index-${index}`, ...given };
      engine.run({ createIndexes: collection.collectionName, indexes: [spec] });
    }
  return engine;
}

function runIn(store: Store, given: Fields): Fields {
  // As over the wire: the engine and the product share no objects.
  const command = received({ ...given, $db: DATABASE });
  const name = (Object.keys(given)[0] ?? '').toLowerCase();
  const write = WRITE_COMMANDS.get(name);
  const read = READ_COMMANDS.get(name);
  const change = CATALOGUE_COMMANDS.get(name);
  const reply = write
    ? write({ store, clock: systemClock }, command)
    : read
      ? read({ store, cursors: singleBatches }, command)
      : change?.(store, command);
  if (!reply) throw new Error(`the simulation has no command ${name}`);
  return isCursorReply(reply)
    ? { documents: reply.documents.map((bytes) => deserialize(bytes)) }
    : received(reply as Fields);
}

function received(fields: Fields): Fields {
  return deserialize(serialize(fields, { ignoreUndefined: false }), { promoteValues: true });
}

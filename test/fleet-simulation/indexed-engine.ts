/**
 * The database of a fleet with many calls: the engine of the embedded store in memory, with the product's
 * indexes, called directly instead of over a socket.
 */
import { deserialize, serialize } from 'bson';
import { systemClock } from '#base/clock.ts';
import { CATALOGUE_COMMANDS } from '#control-plane/platform/store/embedded/catalogue-commands.ts';
import { commandName } from '#control-plane/platform/store/embedded/command-fields.ts';
import { singleBatches } from '#control-plane/platform/store/embedded/cursors.ts';
import type { Store } from '#control-plane/platform/store/embedded/documents.ts';
import { READ_COMMANDS } from '#control-plane/platform/store/embedded/read-commands.ts';
import { isCursorReply } from '#control-plane/platform/store/embedded/read-context.ts';
import { openStore } from '#control-plane/platform/store/embedded/store.ts';
import { WRITE_COMMANDS } from '#control-plane/platform/store/embedded/write-commands.ts';
import type { Models } from '#control-plane/platform/store/models.ts';
import type { Fields, StoreEngine } from './store-engine.ts';

const DATABASE = 'fleet';

/** Opens an empty database with the indexes of these models. */
export function openIndexedEngine(models: readonly Models[keyof Models][]): StoreEngine {
  const store = openStore(':memory:');
  for (const { collection, schema } of models)
    for (const [index, [key, { background: _, ...options }]] of schema.indexes().entries())
      runOn(store, {
        createIndexes: collection.collectionName,
        indexes: [{ key, name: `index-${index}`, ...options }],
      });
  return { run: (command) => runOn(store, command) };
}

function runOn(store: Store, given: Fields): Fields {
  const name = commandName(given).toLowerCase();
  const command = overBson({ ...given, $db: DATABASE });
  const write = WRITE_COMMANDS.get(name);
  if (write) return overBson(write({ store, clock: systemClock }, command));
  const read = READ_COMMANDS.get(name);
  const reply = read ? read({ store, cursors: singleBatches }, command) : catalogue(store, name, command);
  if (!isCursorReply(reply)) return overBson(reply);
  return { documents: reply.documents.map((bytes) => deserialize(bytes)) };
}

function catalogue(store: Store, name: string, command: Fields) {
  const run = CATALOGUE_COMMANDS.get(name);
  if (!run) throw new Error(`the simulation has no command ${name}`);
  return run(store, command as never);
}

/** As over the wire: the engine and the product share no objects. */
function overBson(fields: Fields): Fields {
  return deserialize(serialize(fields, { ignoreUndefined: false }));
}

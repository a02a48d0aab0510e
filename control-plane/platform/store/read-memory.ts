/**
 * Cache of the documents that every session creation reads: the API key with its account, the agent, its
 * newest version and the called number. Used only if this process is the only writer (embedded database).
 * Cleared before and after every write to the underlying collections, so a revoked key is refused as soon as
 * the revocation is answered.
 */
import type { Model } from 'mongoose';
import type { AgentDocument } from './models/agent-model.ts';
import type { KeyDocument } from './models/key-model.ts';
import type { NumberDocument } from './models/number-model.ts';
import type { UserDocument } from './models/user-model.ts';
import type { VersionDocument } from './models/version-model.ts';
import type { Models } from './models.ts';

/**
 * Returns the cached value, or reads it. The value is shared and must not be modified. Missing values are not
 * cached.
 */
export type ReadMemory<Value> = (name: string, read: () => Promise<Value | null>) => Promise<Value | null>;

/** An API key with its account. */
export interface KnownKey {
  readonly key: KeyDocument;
  readonly user: UserDocument;
}

/** The caches of a process. */
export interface ReadMemories {
  readonly keys: ReadMemory<KnownKey>;
  readonly agents: ReadMemory<AgentDocument>;
  readonly newestVersions: ReadMemory<VersionDocument>;
  /**
   * Numbers stored under a called number. An empty list is cached too, because number scans ask for
   * thousands.
   */
  readonly calledNumbers: ReadMemory<readonly NumberDocument[]>;
}

/** Maximum entries per cache; the oldest is evicted first. */
const MAX_ENTRIES = 2_000;

/**
 * Creates the caches over the models; `isOnlyWriter` means that no other process can write to the database.
 */
export function createReadMemories(
  models: Pick<Models, 'keys' | 'users' | 'agents' | 'versions' | 'numbers'>,
  isOnlyWriter: boolean,
): ReadMemories {
  if (!isOnlyWriter)
    return { keys: readAlways, agents: readAlways, newestVersions: readAlways, calledNumbers: readAlways };
  return {
    keys: memoryOf([models.keys, models.users]),
    agents: memoryOf([models.agents]),
    newestVersions: memoryOf([models.versions]),
    calledNumbers: memoryOf([models.numbers]),
  };
}

function readAlways<Value>(_name: string, read: () => Promise<Value | null>): Promise<Value | null> {
  return read();
}

function memoryOf<Value>(sources: readonly Pick<Model<never>, 'collection'>[]): ReadMemory<Value> {
  const entries = new Map<string, Value>();
  let writes = 0;
  let writing = 0;
  for (const { collection } of sources) {
    onWrites(collection, (isOver) => {
      writes += 1;
      writing += isOver ? -1 : 1;
      entries.clear();
    });
  }
  return async (name, read) => {
    const known = entries.get(name);
    if (known !== undefined) return known;
    const writesBefore = writes;
    const found = await read();
    // A concurrent write may or may not be included in the result.
    if (found !== null && writing === 0 && writes === writesBefore) remember(entries, name, found);
    return found;
  };
}

function remember<Value>(entries: Map<string, Value>, name: string, found: Value): void {
  entries.set(name, found);
  for (const oldest of entries.keys()) {
    if (entries.size <= MAX_ENTRIES) break;
    entries.delete(oldest);
  }
}

/** All write methods of a collection; the models' own methods end in these. */
const WRITES = [
  'insertOne',
  'insertMany',
  'updateOne',
  'updateMany',
  'replaceOne',
  'deleteOne',
  'deleteMany',
  'findOneAndUpdate',
  'findOneAndReplace',
  'findOneAndDelete',
  'bulkWrite',
  'drop',
] as const;

/** Calls `told` before and after every write to a collection, even if the write fails. */
function onWrites(collection: object, told: (isOver: boolean) => void): void {
  const methods = collection as Record<string, (...values: unknown[]) => unknown>;
  for (const name of WRITES) {
    const write = methods[name];
    if (!write) throw new Error(`a collection without ${name}`);
    methods[name] = async (...values) => {
      told(false);
      try {
        return await write.apply(collection, values);
      } finally {
        told(true);
      }
    };
  }
}

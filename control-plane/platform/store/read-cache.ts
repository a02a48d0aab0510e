/**
 * Cache of the documents that every session creation reads: the API key with its account, the account of a
 * called number, the agent, its published version and its share, and the called number. Used only if this
 * process is the only writer (embedded database). Cleared before and after every write to the underlying
 * collections, so a revoked key is refused as soon as the revocation is answered.
 */
import type { Model } from 'mongoose';
import { onWrites } from './collection-methods.ts';
import type { AgentDocument } from './models/agent-model.ts';
import type { KeyDocument } from './models/key-model.ts';
import type { NumberDocument } from './models/number-model.ts';
import type { ShareDocument } from './models/share-model.ts';
import type { UserDocument } from './models/user-model.ts';
import type { VersionDocument } from './models/version-model.ts';
import type { Models } from './models.ts';

/**
 * Returns the cached value, or reads it. The value is shared and must not be modified. Missing values are not
 * cached.
 */
export type ReadCache<Value> = (name: string, read: () => Promise<Value | null>) => Promise<Value | null>;

/** An API key with its account. */
export interface KeyWithAccount {
  readonly key: KeyDocument;
  readonly user: UserDocument;
}

/** The caches of a process. */
export interface ReadCaches {
  readonly keys: ReadCache<KeyWithAccount>;
  readonly users: ReadCache<UserDocument>;
  readonly agents: ReadCache<AgentDocument>;
  readonly newestVersions: ReadCache<VersionDocument>;
  /** By their ids. */
  readonly versions: ReadCache<VersionDocument>;
  /** The share of an agent; an empty list, which is cached too, without one. */
  readonly shares: ReadCache<readonly ShareDocument[]>;
  /**
   * Numbers stored under a called number. An empty list is cached too, because number scans ask for
   * thousands.
   */
  readonly calledNumbers: ReadCache<readonly NumberDocument[]>;
}

/** Maximum entries per cache; the oldest is evicted first. */
const MAX_ENTRIES = 2_000;

/**
 * Creates the caches over the models; `isOnlyWriter` means that no other process can write to the database.
 */
export function createReadCaches(
  models: Pick<Models, 'keys' | 'users' | 'agents' | 'versions' | 'shares' | 'numbers'>,
  isOnlyWriter: boolean,
): ReadCaches {
  if (!isOnlyWriter)
    return {
      keys: readAlways,
      users: readAlways,
      agents: readAlways,
      newestVersions: readAlways,
      versions: readAlways,
      shares: readAlways,
      calledNumbers: readAlways,
    };
  return {
    keys: createCache([models.keys, models.users]),
    users: createCache([models.users]),
    agents: createCache([models.agents]),
    newestVersions: createCache([models.versions]),
    versions: createCache([models.versions]),
    shares: createCache([models.shares]),
    calledNumbers: createCache([models.numbers]),
  };
}

function readAlways<Value>(_name: string, read: () => Promise<Value | null>): Promise<Value | null> {
  return read();
}

function createCache<Value>(sources: readonly Pick<Model<never>, 'collection'>[]): ReadCache<Value> {
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
    const cached = entries.get(name);
    if (cached !== undefined) return cached;
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

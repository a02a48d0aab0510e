/**
 * Memory of what every creation of a session reads again: the key with its account, the agent, its newest
 * version, the number that was called. It is kept only where nobody but this process can write (the embedded
 * database), and forgotten before a write to what it was read from begins and again when that has ended: a
 * revoked key is refused from the moment its revocation is answered.
 */
import type { Model } from 'mongoose';
import type { AgentDocument } from './models/agent-model.ts';
import type { KeyDocument } from './models/key-model.ts';
import type { NumberDocument } from './models/number-model.ts';
import type { UserDocument } from './models/user-model.ts';
import type { VersionDocument } from './models/version-model.ts';
import type { Models } from './models.ts';

/**
 * What is remembered under one name, or read when it is not; shared by all who ask, so nobody changes it.
 * What is not there is not remembered.
 */
export type ReadMemory<Known> = (name: string, read: () => Promise<Known | null>) => Promise<Known | null>;

/** An API key with the account it stands for. */
export interface KnownKey {
  readonly key: KeyDocument;
  readonly user: UserDocument;
}

/** The memories of a process. */
export interface ReadMemories {
  readonly keys: ReadMemory<KnownKey>;
  readonly agents: ReadMemory<AgentDocument>;
  readonly newestVersions: ReadMemory<VersionDocument>;
  /** Who may be called under a number; nobody, too: whoever scans for numbers asks for thousands. */
  readonly calledNumbers: ReadMemory<readonly NumberDocument[]>;
}

/** Entries of one memory; the one read first is forgotten first. */
const MAX_ENTRIES = 2_000;

/**
 * Makes the memories over the models; `isOnlyWriter` says that no other process can write to their database.
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

function readAlways<Known>(_name: string, read: () => Promise<Known | null>): Promise<Known | null> {
  return read();
}

function memoryOf<Known>(sources: readonly Pick<Model<never>, 'collection'>[]): ReadMemory<Known> {
  const entries = new Map<string, Known>();
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
    // A write in between, or one still under way, may or may not have been seen.
    if (found !== null && writing === 0 && writes === writesBefore) remember(entries, name, found);
    return found;
  };
}

function remember<Known>(entries: Map<string, Known>, name: string, found: Known): void {
  entries.set(name, found);
  for (const oldest of entries.keys()) {
    if (entries.size <= MAX_ENTRIES) break;
    entries.delete(oldest);
  }
}

/** Every way of writing that a collection has; the models' own methods all end in these. */
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

/** Tells of every write to a collection, before it begins and when it is over, however it ended. */
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

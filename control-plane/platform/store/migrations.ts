/**
 * The version of what is stored, and the steps from one version to the next; they run at the start, before
 * any index is built or anything is read.
 */
import type { Connection } from 'mongoose';
import { isDuplicateKey } from './duplicate-key.ts';

/**
 * One step. It may be cut short and run again, or run on two replicas at once, so it must come to the same
 * however often it runs.
 */
export interface Migration {
  /** Counts from 1, without gaps. */
  readonly version: number;
  readonly name: string;
  run(connection: Connection): Promise<void>;
}

/** Every step, in order; a released one is never changed. */
export const MIGRATIONS: readonly Migration[] = [
  // What the first release stores is what this version is: stores from before it was written down are given
  // their number.
  { version: 1, name: 'first release', run: async () => undefined },
  {
    version: 2,
    name: 'numbers are proven before they keep others away',
    run: async (connection) => {
      const numbers = connection.collection('numbers');
      await numbers.updateMany({ provider: 'managed' }, { $set: { is_proven: true } });
      const indexes = await numbers
        .listIndexes()
        .toArray()
        .catch(() => []);
      if (indexes.some(({ name }) => name === 'phone_number_1')) await numbers.dropIndex('phone_number_1');
    },
  },
  // Read in both forms, so nothing is rewritten; but an older release cannot read the text.
  { version: 3, name: 'metadata as text', run: async () => undefined },
];

interface Applied {
  readonly _id: number;
  readonly name: string;
  readonly at: Date;
}

/**
 * Brings a store up to the newest version and returns that version; every step done is written down in
 * `schema_versions`. Throws one line for a person when a newer program wrote the store: it is left untouched.
 */
export async function migrate(
  connection: Connection,
  at: Date,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<number> {
  const applied = connection.collection<Applied>('schema_versions');
  const [newest] = await applied.find({}).sort({ _id: -1 }).limit(1).toArray();
  const known = migrations.at(-1)?.version ?? 0;
  const stored = newest?._id ?? 0;
  if (stored > known)
    throw new Error(
      `the database was written by a newer release (schema ${stored}, this one knows ${known}): start that release, or restore a backup made before it`,
    );
  for (const migration of migrations.filter(({ version }) => version > stored)) {
    await migration.run(connection);
    await applied.insertOne({ _id: migration.version, name: migration.name, at }).catch((error: unknown) => {
      // Another replica was at it too.
      if (!isDuplicateKey(error)) throw error;
    });
  }
  return known;
}

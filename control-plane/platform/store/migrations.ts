/**
 * Schema versions of the store and the migrations between them, run at startup before indexes are built or
 * anything is read.
 */
import type { Connection } from 'mongoose';
import { dropIndexes } from './build-indexes.ts';
import { isDuplicateKey } from './duplicate-key.ts';
import { DUE_BITS } from './session-due.ts';

/**
 * One migration. It must be idempotent: it may be interrupted and repeated, or run on two replicas at once.
 */
export interface Migration {
  /** Starts at 1, without gaps. */
  readonly version: number;
  readonly name: string;
  run(connection: Connection): Promise<void>;
}

/** All migrations, in order; a released one never changes. */
export const MIGRATIONS: readonly Migration[] = [
  // Version 1 is the format of the first release; this assigns it to stores created before versions were
  // recorded.
  { version: 1, name: 'first release', run: async () => undefined },
  {
    version: 2,
    name: 'numbers are proven before they keep others away',
    run: async (connection) => {
      const numbers = connection.collection('numbers');
      await numbers.updateMany({ provider: 'managed' }, { $set: { is_proven: true } });
      await dropIndexes(numbers, ['phone_number_1']);
    },
  },
  // Both forms can be read, so nothing is rewritten; but an older release cannot read the text.
  { version: 3, name: 'metadata as text', run: async () => undefined },
  // The indexes are replaced beside the running traffic, as all are (`build-indexes.ts`).
  { version: 4, name: 'partial indexes of batch rows', run: async () => undefined },
  // Older calls are counted beside the running traffic. An older release would end calls without their mark.
  { version: 5, name: 'counts of ended calls', run: async () => undefined },
  {
    version: 6,
    name: 'what is due in sessions',
    // The indexes that find these are still there: they are dropped once those of this release are built.
    run: async (connection) => {
      const sessions = connection.collection('sessions');
      for (const [due, which] of [
        ['live', { status: { $in: ['creating', 'pending', 'active', 'unknown'] } }],
        ['settlement', { 'billing.state': 'settle_due' }],
        ['outbox', { 'outbox.at': { $gt: new Date(0) } }],
        ['analysis', { 'analysis.state': 'queued' }],
        ['analysing', { 'analysis.state': 'running' }],
      ] as const)
        await sessions.updateMany(which, { $bit: { due: { or: DUE_BITS[due] } } });
    },
  },
  // An older release would not find the sessions that were archived.
  { version: 7, name: 'archive of sessions', run: async () => undefined },
];

interface AppliedMigration {
  readonly _id: number;
  readonly name: string;
  readonly at: Date;
}

/**
 * Migrates the store to the newest version and returns that version; each completed step is recorded in
 * `schema_versions`. If a newer release wrote the store, throws a one-line error message and changes nothing.
 */
export async function migrate(
  connection: Connection,
  at: Date,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<number> {
  const applied = connection.collection<AppliedMigration>('schema_versions');
  const [newest] = await applied.find({}).sort({ _id: -1 }).limit(1).toArray();
  const known = migrations.at(-1)?.version ?? 0;
  const stored = newest?._id ?? 0;
  if (stored > known)
    throw new Error(
      `the database was written by a newer release (schema ${stored}, this one knows ${known}): start ` +
        'that release, or restore a backup made before it',
    );
  for (const migration of migrations.filter(({ version }) => version > stored)) {
    await migration.run(connection);
    await applied.insertOne({ _id: migration.version, name: migration.name, at }).catch((error: unknown) => {
      // Another replica ran this migration too.
      if (!isDuplicateKey(error)) throw error;
    });
  }
  return known;
}

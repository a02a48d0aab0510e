/** The database behind every model: a MongoDB when one is set, the embedded one otherwise. Both are reached through the same driver. */
import { join } from 'node:path';
import mongoose, { type Connection } from 'mongoose';
import type { Clock } from '#config/clock.ts';
import { lockDataDir } from '#config/data-dir-lock.ts';
import type { Logger } from '#config/log.ts';
import { type EmbeddedDatabase, startEmbeddedDatabase } from './embedded/embedded-database.ts';

/** An open database. */
export interface Database {
  readonly connection: Connection;
  readonly kind: 'embedded' | 'mongodb';
  /** Copies the embedded database as it is at one moment into a new file, while it serves; null for a MongoDB, which has tools of its own. */
  readonly copyTo: ((file: string) => Promise<void>) | null;
  /** Has what was deleted disappear from the embedded database's files soon; a MongoDB has rules of its own for its files. */
  scrub(): void;
  /** Whether the database answers within two seconds. Never rejects. */
  ping(): Promise<boolean>;
  /** Closes the connections, then the embedded database. Idempotent. */
  close(): Promise<void>;
}

/** What the database is opened with. */
export interface DatabaseOptions {
  /** Undefined starts the embedded database under `dataDir`. */
  readonly mongodbUrl: string | undefined;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The embedded database's thread crashed: end the process. */
  onFatal(error: Error): void;
  /** Time between two sweeps of the embedded database's TTL indexes, by the machine's own clock; its default otherwise. */
  readonly expiryMs?: number;
}

const DATABASE_NAME = 'parley';
const PING_MS = 2_000;
const CONNECT_MS = 15_000;

/** Opens the database. Rejects when it cannot be reached or opened. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const embedded = options.mongodbUrl === undefined ? await startEmbedded(options) : null;
  const url = embedded?.url ?? options.mongodbUrl ?? '';
  const connection = mongoose.createConnection(url, {
    ...(hasDatabaseName(url) ? {} : { dbName: DATABASE_NAME }),
    // Indexes are built once at the start (`buildIndexes`), not by whichever model is used first.
    autoIndex: false,
    autoCreate: false,
    serverSelectionTimeoutMS: CONNECT_MS,
    maxPoolSize: 50,
    writeConcern: { w: 'majority' },
    readPreference: 'primary',
  });
  try {
    await connection.asPromise();
  } catch (error) {
    await embedded?.close();
    throw error;
  }
  options.logger.info({ kind: embedded ? 'embedded' : 'mongodb' }, 'database open');
  return {
    connection,
    kind: embedded ? 'embedded' : 'mongodb',
    copyTo: embedded?.copyTo ?? null,
    scrub: () => embedded?.scrub(),
    ping: () => ping(connection, options.clock),
    close: async () => {
      await connection.close();
      await embedded?.close();
    },
  };
}

/** Two programs must not serve one file: the directory is locked, also where no supervisor has locked DATA_DIR. */
async function startEmbedded({ dataDir, onFatal, expiryMs }: DatabaseOptions): Promise<EmbeddedDatabase> {
  const directory = join(dataDir, 'database');
  const lock = lockDataDir(directory);
  try {
    const { close, ...embedded } = await startEmbeddedDatabase({ directory, onFatal, ...(expiryMs !== undefined && { expiryMs }) });
    return { ...embedded, close: () => close().finally(lock.release) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** `mongodb://hosts/name?…` names a database; without a name the driver would use `test`. */
function hasDatabaseName(url: string): boolean {
  return /^mongodb(\+srv)?:\/\/[^/]+\/[^?]+/.test(url);
}

async function ping(connection: Connection, clock: Clock): Promise<boolean> {
  const limit = new AbortController();
  try {
    const answered = connection.db?.admin().ping() ?? Promise.reject(new Error('not connected'));
    const late = clock.sleep(PING_MS, limit.signal).then(() => Promise.reject(new Error('no answer')));
    await Promise.race([answered, late]);
    return true;
  } catch {
    return false;
  } finally {
    limit.abort();
  }
}

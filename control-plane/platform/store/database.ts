/**
 * The database behind all models: MongoDB if configured, otherwise the embedded database. Both use the same
 * driver.
 */
import { join } from 'node:path';
import mongoose, { type Connection } from 'mongoose';
import type { Clock } from '#base/clock.ts';
import { clockProblem } from '#base/clock-difference.ts';
import { lockDataDir } from '#base/data-dir-lock.ts';
import type { Logger } from '#base/log.ts';
import {
  type EmbeddedDatabase,
  type StartThread,
  startEmbeddedDatabase,
} from './embedded/embedded-database.ts';
import { endClosedWrites } from './end-closed-writes.ts';
import { RequestWait } from './request-wait.ts';

/** An open database. */
export interface Database {
  readonly connection: Connection;
  readonly kind: 'embedded' | 'mongodb';
  /**
   * Copies a consistent snapshot of the embedded database into a new file while it keeps serving; null for
   * MongoDB, which has its own tools.
   */
  readonly copyTo: ((file: string) => Promise<void>) | null;
  /** Purges deleted data from the embedded database's files soon; MongoDB manages its own files. */
  scrub(): void;
  /** Whether the database answers within two seconds. Never rejects. */
  ping(): Promise<boolean>;
  /** The wait of a new request for this database, until it is answered. */
  requestWait(isAnswered: () => boolean): RequestWait;
  /** Closes the connections, then the embedded database. Idempotent. */
  close(): Promise<void>;
}

/** Options for opening the database. */
export interface DatabaseOptions {
  /** If undefined, starts the embedded database under `dataDir`. */
  readonly mongodbUrl: string | undefined;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the embedded database's thread has crashed; the process must then exit. */
  onFatal(error: Error): void;
  /**
   * Interval between sweeps of the embedded database's TTL indexes, in real time; defaults to the embedded
   * database's own.
   */
  readonly expiryMs?: number;
  /** As of `EmbeddedOptions`. */
  readonly preloadMs?: number | null;
  readonly startThread?: StartThread;
}

const DATABASE_NAME = 'parley';
const PING_MS = 2_000;
/** Time limits: requests wait for a primary, writes for a majority. */
const SELECTION_MS = 10_000;
const MAJORITY_MS = 15_000;
/** A silent member is considered down after the sum of both. */
const HEARTBEAT_MS = 2_000;
const CONNECT_MS = 4_000;
/** Needed for `$in` in the filter of a partial index. */
const OLDEST_MONGODB = 6;

const EMBEDDED = { serverSelectionTimeoutMS: 15_000, writeConcern: { w: 'majority' } } as const;
const REMOTE = {
  serverSelectionTimeoutMS: SELECTION_MS,
  connectTimeoutMS: CONNECT_MS,
  heartbeatFrequencyMS: HEARTBEAT_MS,
  // Without a limit, a write would wait forever once a majority is lost.
  writeConcern: { w: 'majority', wtimeoutMS: MAJORITY_MS },
} as const;

/** Opens the database. Rejects with a one-line error naming the setting if it cannot be reached or opened. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const embedded = options.mongodbUrl === undefined ? await startEmbedded(options) : null;
  if (!embedded) endClosedWrites();
  const url = embedded?.url ?? options.mongodbUrl ?? '';
  const connection = mongoose.createConnection(url, {
    ...(hasDatabaseName(url) ? {} : { dbName: DATABASE_NAME }),
    // Indexes are built once at startup (`buildIndexes`), not on first use of a model.
    autoIndex: false,
    autoCreate: false,
    maxPoolSize: 50,
    readPreference: 'primary',
    ...(embedded ? EMBEDDED : REMOTE),
  });
  try {
    await connection.asPromise();
    if (embedded) quietPool(connection);
    else await checkMongodb(connection, options);
  } catch (error) {
    await connection.close().catch(() => undefined);
    await embedded?.close();
    throw embedded ? error : startProblem(error);
  }
  options.logger.info({ kind: embedded ? 'embedded' : 'mongodb' }, 'database open');
  return {
    connection,
    kind: embedded ? 'embedded' : 'mongodb',
    copyTo: embedded?.copyTo ?? null,
    scrub: () => embedded?.scrub(),
    ping: () => ping(connection, options.clock),
    requestWait: (isAnswered) => new RequestWait(options.clock, isAnswered),
    close: async () => {
      await connection.close();
      await embedded?.close();
    },
  };
}

/** Parts of the driver that its types omit. */
interface Driver {
  readonly topology?: {
    readonly s?: {
      readonly servers?: ReadonlyMap<string, { readonly pool?: { minPoolSizeTimer?: NodeJS.Timeout } }>;
    };
  };
}

/**
 * Ends the check by which the driver ten times a second keeps a least number of connections and closes those
 * unused for long: we demand neither. That of MongoDB goes on, because it also closes connections to a member
 * that was lost.
 */
function quietPool(connection: Connection): void {
  const { topology } = connection.getClient() as unknown as Driver;
  for (const { pool } of topology?.s?.servers?.values() ?? []) clearTimeout(pool?.minPoolSizeTimer);
}

/** Locks the directory even if no supervisor has locked DATA_DIR: two programs must not serve one file. */
async function startEmbedded(options: DatabaseOptions): Promise<EmbeddedDatabase> {
  const { dataDir, onFatal, expiryMs, preloadMs, startThread } = options;
  const directory = join(dataDir, 'database');
  const lock = lockDataDir(directory);
  try {
    const { close, ...embedded } = await startEmbeddedDatabase({
      directory,
      onFatal,
      ...(expiryMs !== undefined && { expiryMs }),
      ...(preloadMs !== undefined && { preloadMs }),
      ...(startThread && { startThread }),
    });
    return { ...embedded, close: () => close().finally(lock.release) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * Checks that MongoDB is recent enough, and warns if only one member of its replica set is used or if its
 * clock, with which those of all replicas are compared, is far from this machine's. Throws a one-line error
 * message.
 */
async function checkMongodb(
  connection: Connection,
  { clock, logger }: Pick<DatabaseOptions, 'clock' | 'logger'>,
): Promise<void> {
  const admin = connection.db?.admin();
  const { version } = (await admin?.buildInfo()) ?? {};
  if (!(Number.parseInt(String(version), 10) >= OLDEST_MONGODB))
    throw new Error(`MongoDB ${OLDEST_MONGODB}.0 or newer is needed, this is ${String(version)}`);
  const { hosts, localTime } = (await admin?.command({ hello: 1 })) ?? {};
  if (connection.getClient().options.directConnection && Array.isArray(hosts) && hosts.length > 1)
    logger.warn(
      { members: hosts.length },
      'MONGODB_URL has directConnection=true: only one member of its replica set is used, without failover',
    );
  const problem =
    localTime instanceof Date ? clockProblem('MongoDB', localTime.getTime(), clock.wallTime()) : null;
  if (problem !== null) logger.warn(problem);
}

/** The address contains credentials, so they are removed from the driver's message. */
function startProblem(error: unknown): Error {
  const reason = error instanceof Error ? (error.message.split('\n')[0] ?? error.name) : String(error);
  return new Error(`MONGODB_URL: the database cannot be used: ${reason.replaceAll(/\/\/[^/@\s]*@/g, '//')}`, {
    cause: error,
  });
}

/**
 * Whether the address names a database, as in `mongodb://hosts/name?…`; otherwise the driver would use
 * `test`.
 */
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

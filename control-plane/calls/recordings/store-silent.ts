/**
 * Stores the held pieces of calls whose worker has fallen silent, and all of them when this process stops.
 */
import type { Meters } from '#base/meters.ts';
import type { Upload } from '#protocol/uploads.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { findSessions } from '../../platform/store/session-archive.ts';
import { deleteStored, storeHeld } from './recording-store.ts';
import type { Chunk, Segment } from './stored-pieces.ts';

const TICK_MS = 5_000;
/** A remote bucket answers late. */
const AT_ONCE = 20;
const CLOSING_ATTEMPTS = 3;

type Parts = Pick<Context, 'models' | 'blobs' | 'dataKeys' | 'held' | 'clock' | 'logger'>;
type Owner = Pick<SessionDocument, '_id' | 'wrapped_key'>;

/** Starts the loop; closing it stores all held pieces. */
export function startStoringHeld(context: Context): BackgroundLoop {
  addHeldMetrics(context.metrics.meters, () => context.held.bytes);
  const loop = startBackgroundLoop(context, { name: 'held recordings', everyMs: TICK_MS }, () =>
    storeSilent(context, context.clock.now()),
  );
  return {
    ...loop,
    async close() {
      await loop.close();
      // There is no later attempt.
      for (let left = CLOSING_ATTEMPTS; left > 0 && context.held.bytes > 0; left--)
        await storeSilent(context, Number.POSITIVE_INFINITY);
    },
  };
}

/** Adds the metric. */
export function addHeldMetrics(meters: Meters, read: () => number): void {
  meters.gauge({
    name: 'parley_held_recording_bytes',
    help:
      'Parts of recordings and flight logs in memory, until their worker has sent the object of a minute ' +
      'that is stored in the bucket; above 268435456, and those of one team above eight times what is ' +
      'still free, they are stored at once.',
    read,
  });
}

/** Stores the held pieces of calls that are silent; those that cannot be stored stay. */
export async function storeSilent(context: Parts, nowMs: number): Promise<void> {
  const calls = context.held.silent(nowMs);
  for (let first = 0; first < calls.length; first += AT_ONCE) {
    const some = calls.slice(first, first + AT_ONCE);
    try {
      await storeCalls(context, some);
    } catch (error) {
      context.logger.error({ err: error, calls: calls.length - first }, 'recordings of lost workers wait');
      // The database is away.
      return;
    }
  }
}

/** Rejects only if the database does. */
async function storeCalls(context: Parts, calls: readonly Upload[][]): Promise<void> {
  const ids = [...new Set(calls.flat().map(({ head }) => head.session_id))];
  const sessions = await keptSessions(context, ids);
  const stored = await Promise.all(
    calls.map(async (uploads) => {
      const session = sessions.get(uploads[0]?.head.session_id ?? '');
      return session ? store(context, session, uploads) : { uploads, objects: [] };
    }),
  );
  // Those that were erased while they were stored.
  const kept = await keptSessions(context, [...sessions.keys()]);
  for (const done of stored) {
    if (!done) continue;
    const session = sessions.get(done.uploads[0]?.head.session_id ?? '');
    if (session && !kept.has(session._id))
      for (const object of done.objects) await deleteStored(context, session, object);
    context.held.drop(done.uploads);
  }
}

interface StoredCall {
  readonly uploads: readonly Upload[];
  readonly objects: readonly (Segment | Chunk)[];
}

/** Null if that failed: they stay until the next time. */
async function store(context: Parts, session: Owner, uploads: readonly Upload[]): Promise<StoredCall | null> {
  try {
    return { uploads, objects: await storeHeld(context, session, uploads) };
  } catch (error) {
    context.logger.error({ err: error, sessionId: session._id }, 'a lost worker’s recording is not stored');
    return null;
  }
}

/** Those whose key exists. */
async function keptSessions({ models }: Parts, ids: readonly string[]): Promise<Map<string, Owner>> {
  const sessions = await findSessions<Owner>({ models }, ids, { wrapped_key: 1 });
  return new Map(sessions.filter((session) => session.wrapped_key).map((session) => [session._id, session]));
}

/**
 * Stores what is left of calls whose worker has fallen silent, and everything held when this process stops.
 */
import type { Meters } from '#base/meters.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { storeHeld } from './recording-store.ts';

const TICK_MS = 5_000;
/** A remote bucket answers late. */
const AT_ONCE = 20;

type Parts = Pick<Context, 'models' | 'blobs' | 'dataKeys' | 'held' | 'clock' | 'logger'>;

/** Starts the loop; closing it stores what is held. */
export function startStoringHeld(context: Context): BackgroundLoop {
  addHeldMetrics(context.metrics.meters, () => context.held.bytes);
  const loop = startBackgroundLoop(context, { name: 'held recordings', everyMs: TICK_MS }, () =>
    storeSilent(context, context.clock.now()),
  );
  return {
    ...loop,
    async close() {
      await loop.close();
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
      'that is stored in the bucket; above 268435456 they are stored at once.',
    read,
  });
}

/** Stores what is held of the calls that have been silent until now. */
export async function storeSilent(context: Parts, nowMs: number): Promise<void> {
  const calls = context.held.takeSilent(nowMs);
  for (let first = 0; first < calls.length; first += AT_ONCE)
    await Promise.all(calls.slice(first, first + AT_ONCE).map((uploads) => store(context, uploads)));
}

async function store(context: Parts, uploads: Parameters<typeof storeHeld>[2]): Promise<void> {
  const head = uploads[0]?.head;
  const session = head && (await sessionOf(context, head.session_id));
  if (!session) return;
  await storeHeld(context, session, uploads).catch((error: unknown) => {
    // They stay until the next time.
    for (const upload of uploads) context.held.hold(upload, context.clock.now());
    context.logger.error({ err: error, sessionId: session._id }, 'a lost worker’s recording is not stored');
  });
}

async function sessionOf(
  { models }: Parts,
  sessionId: string,
): Promise<Pick<SessionDocument, '_id' | 'wrapped_key'> | null> {
  return models.sessions
    .findOne({ _id: sessionId }, { wrapped_key: 1 })
    .lean<Pick<SessionDocument, '_id' | 'wrapped_key'>>();
}

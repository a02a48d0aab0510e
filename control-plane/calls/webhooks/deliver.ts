/**
 * Sends webhooks. Due deliveries are leased, with the slots shared between teams, then posted through the
 * egress guard and signed anew for each attempt. A failed attempt is retried after 1 s and 5 s, then the
 * delivery is dropped. When a lease expires because its holder was killed, the delivery is due again.
 */
import { randomUUID } from 'node:crypto';
import type { Timer } from '#base/clock.ts';
import { LIMITS } from '#config/limits.ts';
import { callTraceparent } from '#config/tracing.ts';
import { type BackgroundLoop, createBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';
import { type SessionDocument, toBuffer } from '../../platform/store/models/session-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { findSessions } from '../../platform/store/session-archive.ts';
import { promoteNext } from '../outbox/relay.ts';
import { payloadContext, sealerOf } from '../sessions/session-store.ts';
import { DeliveryScheduler } from './delivery-scheduler.ts';
import { postDelivery } from './post-delivery.ts';

/** Longer than any attempt takes. */
const LEASE_MS = LIMITS.webhookAttemptMs + 10_000;
/** Maximum delay until deliveries of other processes are noticed. */
const MAX_SLEEP_MS = 5_000;
/** Without other processes: each new delivery wakes this loop, but for one whose write seemed to fail. */
const ALONE_MAX_SLEEP_MS = 60_000;

/** An attempt that begins. */
interface Begun {
  readonly delivery: DeliveryDocument;
  readonly keys: Promise<SessionKeys>;
  /** Resolves when the delivery is stored; absent: it is. */
  readonly relayed?: Promise<void>;
}

/** Starts the background deliverer of a process, which sends due deliveries. */
export function startDeliverer(context: Context): BackgroundLoop {
  const { clock, logger } = context;
  const inFlight = new Set<Promise<void>>();
  let alarm: Timer | null = null;
  const closing = new AbortController();

  const scheduler = new DeliveryScheduler();
  let lastServed = '';

  /**
   * Starts an attempt, whose slot is taken. When it ends, runs another pass if a slot was awaited or another
   * attempt is due.
   */
  function begin({ delivery, keys, relayed = Promise.resolve() }: Begun): void {
    const attempt = attemptDelivery(context, { delivery, keys, relayed }, closing.signal)
      .catch((error: unknown) => {
        logger.error({ err: error, deliveryId: delivery._id }, 'failed to run a webhook delivery attempt');
        return true;
      })
      .then((hasNext) => {
        inFlight.delete(attempt);
        if (scheduler.end(delivery) || hasNext) loop.kick();
      });
    inFlight.add(attempt);
  }

  /** Gives each team an equal share of the slots, until no team has a delivery that may be sent. */
  async function beginDue(): Promise<void> {
    const waiting = startingAfter(await waitingTeams(context), lastServed);
    const again: string[] = [];
    while (waiting.length + again.length > 0 && scheduler.free > 0) {
      // No team gets a second turn while another waits for its first.
      lastServed = waiting[scheduler.free - 1] ?? waiting.at(-1) ?? lastServed;
      const served = (waiting.length > 0 ? waiting : again).splice(0, scheduler.free);
      const share = Math.floor(scheduler.free / served.length);
      // All at once: a team with few deliveries does not wait for one with many.
      const hasMore = await allEnded(served.map((teamId) => beginDueOf(teamId, share)));
      again.push(...served.filter((_, index) => hasMore[index]));
    }
  }

  /**
   * Returns whether the team may have more deliveries, because the limit was reached or another process took
   * some.
   */
  async function beginDueOf(teamId: string, share: number): Promise<boolean> {
    const limit = Math.min(share, scheduler.freeFor(teamId));
    if (closing.signal.aborted || limit === 0) return false;
    const due = await dueOf(context, { teamId, limit, except: scheduler.busyEndpoints(teamId) });
    if (due.length === 0 || closing.signal.aborted) return false;
    const { claimed, isComplete } = await claimSlots(context, scheduler, due);
    const keys = keysOf(context, claimed);
    for (const delivery of claimed) begin({ delivery, keys });
    return due.length === limit || !isComplete;
  }

  const loop = createBackgroundLoop('deliveries', logger, async () => {
    // Every attempt that ends checks for deliveries waiting for a slot.
    if (scheduler.free === 0) return;
    // Failed passes are rescheduled too, because nothing else might trigger the loop.
    let waitMs = MAX_SLEEP_MS;
    try {
      const since = now(context);
      await beginDue();
      waitMs = await untilNextDue(context, since);
    } finally {
      alarm?.cancel();
      alarm = closing.signal.aborted ? null : clock.after(waitMs, loop.kick);
    }
  });

  const stopServing = serveFirstAttempts(context, { scheduler, inFlight, begin, kick: loop.kick });
  const stopListening = context.workSignals.on('deliveries', loop.kick);
  loop.kick();
  return {
    kick: loop.kick,
    async idle() {
      await loop.idle();
      while (inFlight.size > 0) {
        await Promise.all(inFlight);
        await loop.idle();
      }
    },
    async close() {
      closing.abort();
      stopServing();
      stopListening();
      await loop.close();
      alarm?.cancel();
      while (inFlight.size > 0) await Promise.all(inFlight);
    },
  };
}

/** Takes new deliveries from the relay while their endpoints are idle; returns a function that stops this. */
function serveFirstAttempts(
  context: Context,
  deliverer: {
    readonly scheduler: DeliveryScheduler;
    readonly inFlight: Set<Promise<void>>;
    begin(attempt: Begun): void;
    kick(): void;
  },
): () => void {
  const { scheduler, inFlight } = deliverer;
  return context.firstAttempts.serve((destination) => {
    if (!scheduler.isIdle(destination)) return null;
    scheduler.begin(destination);
    // A shutdown waits for the relay to use or release the slot.
    const { promise: reservation, resolve } = Promise.withResolvers<void>();
    inFlight.add(reservation);
    const end = () => {
      inFlight.delete(reservation);
      resolve();
    };
    return {
      lease: { ...newLease(context), attempts: 1 },
      begin(delivery, session, relayed) {
        deliverer.begin({ delivery, keys: Promise.resolve(new Map([[session._id, session]])), relayed });
        end();
      },
      release() {
        end();
        if (scheduler.end(destination)) deliverer.kick();
      },
    };
  });
}

/** Waits until all have ended, then throws the first failure: what runs on must not overlap the next pass. */
async function allEnded<Result>(work: readonly Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

/** Time until the next pass: when the next delivery after `since` becomes due, or the longest sleep; ms. */
async function untilNextDue({ models, clock, storeWrites }: Context, since: Date): Promise<number> {
  const [next] = await readStored<DeliveryDocument, Pick<DeliveryDocument, 'next_at'>>(
    models.deliveries,
    { state: 'pending', next_at: { $gt: since } },
    { projection: { next_at: 1 }, sort: { next_at: 1 }, limit: 1 },
  );
  const longestMs = storeWrites ? ALONE_MAX_SLEEP_MS : MAX_SLEEP_MS;
  return next ? Math.min(Math.max(next.next_at.getTime() - clock.wallTime(), 1), longestMs) : longestMs;
}

/** Teams with a pending delivery; one index lookup per team. */
async function waitingTeams({ models }: Pick<Context, 'models'>): Promise<string[]> {
  const teams: string[] = [];
  for (;;) {
    const [next] = await readStored<DeliveryDocument, Pick<DeliveryDocument, 'team_id'>>(
      models.deliveries,
      { state: 'pending', team_id: { $gt: teams.at(-1) ?? '' } },
      { projection: { team_id: 1 }, sort: { team_id: 1 }, limit: 1 },
    );
    if (!next) return teams;
    teams.push(next.team_id);
  }
}

function startingAfter(teams: readonly string[], last: string): string[] {
  return [...teams.filter((id) => id > last), ...teams.filter((id) => id <= last)];
}

/** A team's due deliveries, oldest first. */
function dueOf(
  { models, clock }: Pick<Context, 'models' | 'clock'>,
  {
    teamId,
    limit,
    except,
  }: { readonly teamId: string; readonly limit: number; readonly except: readonly string[] },
): Promise<DeliveryDocument[]> {
  return models.deliveries
    .find({
      state: 'pending',
      team_id: teamId,
      next_at: { $lte: now({ clock }) },
      ...(except.length > 0 && { url: { $nin: except } }),
    })
    .sort({ next_at: 1 })
    .limit(limit)
    .lean<DeliveryDocument[]>();
}

function newLease(context: Pick<Context, 'clock'>): Pick<DeliveryDocument, 'lease' | 'next_at'> {
  return { lease: randomUUID(), next_at: new Date(context.clock.wallTime() + LEASE_MS) };
}

/**
 * Takes slots for these deliveries, then leases them: first attempts may begin meanwhile. `isComplete` is
 * false if another process has taken some of them; their slots are free again.
 */
async function claimSlots(
  context: Pick<Context, 'models' | 'clock'>,
  scheduler: DeliveryScheduler,
  due: readonly DeliveryDocument[],
): Promise<{ readonly claimed: DeliveryDocument[]; readonly isComplete: boolean }> {
  const begun = scheduler.beginStartable(due);
  let claimed: DeliveryDocument[] = [];
  try {
    claimed = await claim(context, begun);
  } finally {
    const ids = new Set(claimed.map(({ _id }) => _id));
    for (const delivery of begun) if (!ids.has(delivery._id)) scheduler.end(delivery);
  }
  return { claimed, isComplete: claimed.length === begun.length };
}

/** Leases these deliveries; returns those that no other process has taken since they were read. */
async function claim(
  context: Pick<Context, 'models' | 'clock'>,
  due: readonly DeliveryDocument[],
): Promise<DeliveryDocument[]> {
  if (due.length === 0) return [];
  const { deliveries } = context.models;
  const lease = newLease(context);
  const claimed = due.map((delivery) => ({ ...delivery, ...lease, attempts: delivery.attempts + 1 }));
  const updates = due.map((delivery, index) => ({
    updateOne: {
      filter: { _id: delivery._id, state: 'pending', lease: delivery.lease, attempts: delivery.attempts },
      update: { $set: { ...lease, attempts: claimed[index]?.attempts } },
    },
  }));
  const { modifiedCount } = await deliveries.collection.bulkWrite(updates as never, { ordered: false });
  if (modifiedCount === due.length) return claimed;
  const mine = await deliveries
    .find({ lease: lease.lease, _id: { $in: due.map(({ _id }) => _id) } }, { _id: 1 })
    .lean<Pick<DeliveryDocument, '_id'>[]>();
  const ids = new Set(mine.map(({ _id }) => _id));
  return claimed.filter(({ _id }) => ids.has(_id));
}

/** Stored keys that decrypt the payloads, by session. */
type SessionKeys = ReadonlyMap<string, Pick<SessionDocument, '_id' | 'wrapped_key'>>;

async function keysOf(
  { models }: Pick<Context, 'models'>,
  deliveries: readonly DeliveryDocument[],
): Promise<SessionKeys> {
  const ids = [...new Set(deliveries.map((delivery) => delivery.session_id))];
  if (ids.length === 0) return new Map();
  type Keyed = Pick<SessionDocument, '_id' | 'wrapped_key'>;
  const written = await models.textSessions.find({ _id: { $in: ids } }, { wrapped_key: 1 }).lean<Keyed[]>();
  const found = new Map(written.map((session) => [session._id, session]));
  const others = ids.filter((id) => !found.has(id));
  for (const session of await findSessions<Keyed>({ models }, others, { wrapped_key: 1 }))
    found.set(session._id, session);
  return found;
}

/**
 * Makes one attempt; returns whether another must follow, for this delivery or for the next one to its
 * endpoint.
 */
async function attemptDelivery(
  context: Context,
  { delivery, keys, relayed }: Required<Begun>,
  closing: AbortSignal,
): Promise<boolean> {
  const payload = openPayload(context, delivery, await keys);
  const startMs = context.clock.wallTime();
  const outcome = payload
    ? await postDelivery(context, { delivery, payload }, closing)
    : { isDelivered: false, isAnswered: false, result: 'payload was erased' };
  const endMs = context.clock.wallTime();
  // Before the wait: a shutdown that begins during it has not aborted this attempt.
  const isAborted = closing.aborted && !outcome.isDelivered;
  await relayed;
  if (isAborted) {
    await giveBack(context, delivery);
    return true;
  }
  context.tracing?.record({
    name: `webhook ${delivery.event}`,
    kind: 'client',
    startMs,
    endMs,
    parent: callTraceparent(delivery.session_id),
    attributes: {
      'server.address': new URL(delivery.url).host,
      'parley.attempt': delivery.attempts,
      'parley.result': outcome.result,
    },
    error: outcome.isDelivered ? null : outcome.result,
  });
  const isOver = outcome.isDelivered || !payload || delivery.attempts >= LIMITS.webhookAttempts;
  const at = new Date(endMs);
  const backoffMs = LIMITS.webhookBackoffMs[delivery.attempts - 1] ?? 0;
  const { matchedCount } = await context.models.deliveries.collection.updateOne(
    { _id: delivery._id, lease: delivery.lease } as never,
    {
      $set: {
        lease: null,
        last_result: outcome.result,
        last_attempt_at: at,
        ...(isOver
          ? { state: outcome.isDelivered ? 'delivered' : 'dropped', finished_at: at }
          : { next_at: new Date(at.getTime() + backoffMs) }),
      },
    },
  );
  context.logger[isOver && !outcome.isDelivered ? 'warn' : 'debug'](
    {
      sessionId: delivery.session_id,
      event: delivery.event,
      attempt: delivery.attempts,
      result: outcome.result,
    },
    'webhook attempt',
  );
  // The delivery is not stored, or has another lease by now: the process that finishes it counts it.
  if (matchedCount === 0) return false;
  if (!isOver) return true;
  countFinished(context, delivery, outcome.isDelivered, at);
  return promoteNext(context, delivery.session_id, delivery.url);
}

/** Takes back an attempt that the shutdown aborted, not the endpoint: the delivery is due at once. */
async function giveBack(context: Context, { _id, lease }: DeliveryDocument): Promise<void> {
  const due = { $set: { lease: null, next_at: now(context) }, $inc: { attempts: -1 } };
  await context.models.deliveries.updateOne({ _id, lease }, due);
}

/** Counts a delivery that is over. */
function countFinished(
  { metrics, tracing }: Pick<Context, 'metrics' | 'tracing'>,
  { created_at: since, session_id: sessionId }: DeliveryDocument,
  isDelivered: boolean,
  at: Date,
): void {
  const outcome = isDelivered ? 'delivered' : 'dropped';
  metrics.webhooks.inc({ outcome });
  const ageMs = Math.max(0, at.getTime() - since.getTime());
  metrics.webhookAges.observe({ outcome }, ageMs / 1000, tracing && sessionId);
}

function openPayload(context: Context, delivery: DeliveryDocument, keys: SessionKeys): Buffer | null {
  const session = keys.get(delivery.session_id);
  const sealer = session && sealerOf(context, session);
  return sealer ? sealer.open(toBuffer(delivery.payload), payloadContext(outboxIdOf(delivery._id))) : null;
}

function outboxIdOf(deliveryId: string): string {
  return deliveryId.slice(0, deliveryId.lastIndexOf(':'));
}

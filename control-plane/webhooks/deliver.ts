/**
 * Sends webhooks (S§6.4, S§6.5): due deliveries are leased one by one, a team's after another's, posted through the egress guard and signed afresh at each attempt;
 * a failed one is tried again after 1 s and 5 s, then dropped. A lease that runs out, because its holder was killed, is simply due again.
 */
import { randomUUID } from 'node:crypto';
import type { Timer } from '#config/clock.ts';
import { LIMITS } from '#config/limits.ts';
import { callTraceparent } from '#config/tracing.ts';
import { SIGNATURE_HEADER } from '#config/webhook-events.ts';
import { type ChoreLoop, createChoreLoop } from '../chore-loop.ts';
import { type Context, now } from '../context.ts';
import { loadSession, payloadContext, sealerOf } from '../sessions/session-store.ts';
import type { DeliveryDocument } from '../store/models/delivery-model.ts';
import { toBuffer } from '../store/models/session-model.ts';
import { promoteNext } from './relay.ts';
import { signPayload } from './signature.ts';
import { Turns } from './turns.ts';

/** Longer than an attempt can take. */
const LEASE_MS = LIMITS.webhookAttemptMs + 10_000;
/** Deliveries of other processes are noticed this late at most. */
const MAX_SLEEP_MS = 5_000;
/** Nothing of the answer matters but its status. */
const ANSWER_BYTES = 16 * 1024;

/** Starts the deliverer of a process: sends due deliveries in the background. */
export function startDeliverer(context: Context): ChoreLoop {
  const { clock, logger } = context;
  const inFlight = new Set<Promise<void>>();
  let alarm: Timer | null = null;
  const closing = new AbortController();

  const turns = new Turns();
  let lastServed = '';

  function begin(delivery: DeliveryDocument): void {
    turns.begin(delivery);
    const attempt = attemptDelivery(context, delivery, closing.signal)
      .catch((error: unknown) => logger.error({ err: error, deliveryId: delivery._id }, 'delivery attempt'))
      .finally(() => {
        turns.end(delivery);
        inFlight.delete(attempt);
        loop.kick();
      });
    inFlight.add(attempt);
  }

  /** One delivery of each team in turn, for as long as there is one that may be sent. */
  async function beginDue(): Promise<void> {
    let teams = startingAfter(await waitingTeams(context), lastServed);
    while (teams.length > 0) {
      const served: string[] = [];
      for (const teamId of teams) {
        if (closing.signal.aborted || !turns.isTurnOf(teamId)) continue;
        const delivery = await claim(context, teamId, turns.busyEndpoints(teamId));
        if (!delivery) continue;
        begin(delivery);
        served.push(teamId);
        lastServed = teamId;
      }
      teams = served;
    }
  }

  const loop = createChoreLoop('deliveries', logger, async () => {
    const since = now(context);
    if (turns.hasRoom) await beginDue();
    // What was due and waits for its turn is looked at again when an attempt ends.
    const later = { state: 'pending' as const, next_at: { $gt: since } };
    const next = await context.models.deliveries.findOne(later).sort({ next_at: 1 }).lean<DeliveryDocument>();
    const waitMs = next ? next.next_at.getTime() - clock.wallTime() : MAX_SLEEP_MS;
    alarm?.cancel();
    alarm = closing.signal.aborted ? null : clock.after(Math.min(Math.max(waitMs, 1), MAX_SLEEP_MS), loop.kick);
  });

  const stopListening = context.bell.on('deliveries', loop.kick);
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
      stopListening();
      await loop.close();
      alarm?.cancel();
      await Promise.all(inFlight);
    },
  };
}

/** Teams that have a delivery which is neither delivered nor dropped: one look at the index for each. */
async function waitingTeams({ models }: Pick<Context, 'models'>): Promise<string[]> {
  const teams: string[] = [];
  for (;;) {
    const next = await models.deliveries
      .findOne({ state: 'pending', team_id: { $gt: teams.at(-1) ?? '' } }, { team_id: 1 })
      .sort({ team_id: 1 })
      .lean<Pick<DeliveryDocument, 'team_id'>>();
    if (!next) return teams;
    teams.push(next.team_id);
  }
}

function startingAfter(teams: readonly string[], last: string): string[] {
  return [...teams.filter((id) => id > last), ...teams.filter((id) => id <= last)];
}

function claim(context: Pick<Context, 'models' | 'clock'>, teamId: string, except: readonly string[]): Promise<DeliveryDocument | null> {
  const at = now(context);
  return context.models.deliveries
    .findOneAndUpdate(
      { state: 'pending', team_id: teamId, next_at: { $lte: at }, ...(except.length > 0 && { url: { $nin: except } }) },
      { $set: { next_at: new Date(at.getTime() + LEASE_MS), lease: randomUUID() }, $inc: { attempts: 1 } },
      { sort: { next_at: 1 }, returnDocument: 'after' },
    )
    .lean<DeliveryDocument>();
}

async function attemptDelivery(context: Context, delivery: DeliveryDocument, closing: AbortSignal): Promise<void> {
  const payload = await openPayload(context, delivery);
  const startMs = context.clock.wallTime();
  const outcome = payload ? await post(context, { delivery, payload }, closing) : { isDelivered: false, result: 'payload was erased' };
  if (closing.aborted && !outcome.isDelivered) {
    // Cut off by the end of the program, not by the endpoint: it does not count, and is due at once.
    const giveBack = { $set: { lease: null, next_at: now(context) }, $inc: { attempts: -1 } };
    await context.models.deliveries.updateOne({ _id: delivery._id, lease: delivery.lease }, giveBack);
    return;
  }
  context.tracing?.record({
    name: `webhook ${delivery.event}`,
    kind: 'client',
    startMs,
    endMs: context.clock.wallTime(),
    parent: callTraceparent(delivery.session_id),
    attributes: { 'server.address': new URL(delivery.url).host, 'parley.attempt': delivery.attempts, 'parley.result': outcome.result },
    error: outcome.isDelivered ? null : outcome.result,
  });
  const isOver = outcome.isDelivered || !payload || delivery.attempts >= LIMITS.webhookAttempts;
  const at = now(context);
  const backoffMs = LIMITS.webhookBackoffMs[delivery.attempts - 1] ?? 0;
  await context.models.deliveries.updateOne(
    { _id: delivery._id, lease: delivery.lease },
    {
      $set: {
        lease: null,
        last_result: outcome.result,
        last_attempt_at: at,
        ...(isOver ? { state: outcome.isDelivered ? 'delivered' : 'dropped', finished_at: at } : { next_at: new Date(at.getTime() + backoffMs) }),
      },
    },
  );
  context.logger[isOver && !outcome.isDelivered ? 'warn' : 'debug'](
    { sessionId: delivery.session_id, event: delivery.event, attempt: delivery.attempts, result: outcome.result },
    'webhook attempt',
  );
  if (isOver) context.metrics.webhooks.inc({ outcome: outcome.isDelivered ? 'delivered' : 'dropped' });
  if (isOver) await promoteNext(context, delivery.session_id, delivery.url);
}

async function openPayload(context: Context, delivery: DeliveryDocument): Promise<Buffer | null> {
  const session = await loadSession(context, delivery.session_id);
  const sealer = session && sealerOf(context, session);
  return sealer ? sealer.open(toBuffer(delivery.payload), payloadContext(outboxIdOf(delivery._id))) : null;
}

function outboxIdOf(deliveryId: string): string {
  return deliveryId.slice(0, deliveryId.lastIndexOf(':'));
}

async function post(
  context: Context,
  { delivery, payload }: { delivery: DeliveryDocument; payload: Buffer },
  signal: AbortSignal,
): Promise<{ isDelivered: boolean; result: string }> {
  const secret = delivery.secret === null ? null : context.secretBox.open(delivery.secret);
  try {
    const response = await context.egress.request(delivery.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'Parley-Webhooks/1',
        ...(secret === null ? {} : { [SIGNATURE_HEADER]: signPayload(secret, payload, context.clock.wallTime()) }),
      },
      body: payload,
      timeoutMs: LIMITS.webhookAttemptMs,
      maxBytes: ANSWER_BYTES,
      signal,
    });
    return { isDelivered: response.status >= 200 && response.status < 300, result: String(response.status) };
  } catch (error) {
    return { isDelivered: false, result: error instanceof Error ? error.message.slice(0, 200) : 'failed' };
  }
}

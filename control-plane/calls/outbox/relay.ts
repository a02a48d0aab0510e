/**
 * Moves a session's outbox events to deliveries, one per event and endpoint. Deterministic ids make a
 * repeated run harmless.
 */
import { type Context, now } from '../../platform/context.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { insertDocuments } from '../../platform/store/insert-documents.ts';
import type { DeliveryDocument, DeliveryState } from '../../platform/store/models/delivery-model.ts';
import type { OutboxEvent, SessionDocument } from '../../platform/store/models/session-model.ts';

type Parts = Pick<Context, 'models' | 'clock' | 'workSignals' | 'firstAttempts'>;

/** Moves a session's outbox events to deliveries. May be repeated or run concurrently. */
export async function relayOutbox(context: Parts, session: SessionDocument): Promise<void> {
  const [first] = session.outbox;
  if (!first) return;
  const { sessions } = context.models;
  const busy = isFirstEvent(first, session) ? new Set<string>() : await busyUrls(context, session._id);
  const waiting = new Set<string>();
  // Events are inserted in order, so that a reader that sees a later one queued also sees the earlier ones.
  for (const event of session.outbox) {
    const documents = session.endpoints.map((endpoint, index) => {
      const state = busy.has(endpoint.url) ? 'queued' : 'pending';
      busy.add(endpoint.url);
      return toDelivery(context, { session, event, endpoint, index, state });
    });
    for (const url of await insertOnce(context, session, documents)) waiting.add(url);
  }
  const relayed = { $pull: { outbox: { id: { $in: session.outbox.map(({ id }) => id) } } } };
  await sessions.collection.updateOne({ _id: session._id } as never, relayed as never);
  for (const url of waiting) await promoteNext(context, session._id, url);
  if (waiting.size > 0) context.workSignals.notify('deliveries');
}

/** Before this event, its session has no other that could keep an endpoint busy. */
function isFirstEvent({ event }: OutboxEvent, { direction }: SessionDocument): boolean {
  return event === (direction === 'outbound' ? 'phone_call.dial_finished' : 'call.ended');
}

/**
 * Makes an endpoint's next event of a session due, unless an earlier one is still pending; a unique index
 * enforces this between concurrent attempts. Returns true if it promoted one.
 */
export async function promoteNext(
  context: Pick<Context, 'models' | 'clock'>,
  sessionId: string,
  url: string,
): Promise<boolean> {
  const next = { session_id: sessionId, url, state: 'queued' };
  const due = { $set: { state: 'pending', next_at: now(context) } };
  try {
    return (
      (await context.models.deliveries.collection.findOneAndUpdate(next, due, {
        sort: { rank: 1 },
        projection: { _id: 1 },
      })) !== null
    );
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return false;
  }
}

/**
 * Endpoints with a queued or pending event of the session. An event for any other endpoint is due at once.
 */
async function busyUrls(context: Parts, sessionId: string): Promise<Set<string>> {
  const unfinished = { session_id: sessionId, state: { $in: ['queued', 'pending'] as const } };
  const rows = await context.models.deliveries
    .find(unfinished, { url: 1 })
    .lean<Pick<DeliveryDocument, 'url'>[]>();
  return new Set(rows.map(({ url }) => url));
}

/**
 * Inserts missing deliveries; one whose endpoint already has a pending delivery is inserted as queued.
 * Returns the endpoints of the queued ones.
 */
async function insertOnce(
  context: Parts,
  session: SessionDocument,
  documents: readonly DeliveryDocument[],
): Promise<string[]> {
  const refused = await insertAndSend(context, session, documents);
  // Refused documents either exist already or must wait; inserted again as queued, only the existing ones are
  // refused again.
  const behind = refused
    .filter(({ state }) => state === 'pending')
    .map((document) => ({ ...document, state: 'queued' as const }));
  await insertDocuments(context.models.deliveries, behind);
  return [...documents.filter(({ state }) => state === 'queued'), ...behind].map(({ url }) => url);
}

/**
 * Inserts deliveries and sends those that are pending, at once if their endpoint is idle. Returns those
 * refused by a unique index.
 */
async function insertAndSend(
  { models, firstAttempts, workSignals }: Parts,
  session: SessionDocument,
  documents: readonly DeliveryDocument[],
): Promise<DeliveryDocument[]> {
  const deliveries = documents.map((document) => {
    const attempt = document.state === 'pending' ? firstAttempts.reserve(document) : null;
    return { document, attempt, stored: { ...document, ...attempt?.lease } };
  });
  try {
    const refused = new Set(
      await insertDocuments(
        models.deliveries,
        deliveries.map(({ stored }) => stored),
      ),
    );
    for (const { attempt, stored } of deliveries) {
      if (refused.has(stored)) attempt?.release();
      else attempt?.begin(stored, session);
    }
    if (deliveries.some(({ attempt, stored }) => !attempt && stored.state === 'pending'))
      workSignals.notify('deliveries');
    return deliveries.flatMap(({ document, stored }) => (refused.has(stored) ? document : []));
  } catch (error) {
    for (const { attempt } of deliveries) attempt?.release();
    throw error;
  }
}

function toDelivery(
  context: Parts,
  input: {
    session: SessionDocument;
    event: OutboxEvent;
    endpoint: SessionDocument['endpoints'][number];
    index: number;
    state: DeliveryState;
  },
): DeliveryDocument {
  const at = now(context);
  return {
    _id: `${input.event.id}:${input.index}`,
    session_id: input.session._id,
    team_id: input.session.team_id,
    event: input.event.event,
    url: input.endpoint.url,
    secret: input.endpoint.secret,
    rank: input.event.rank,
    state: input.state,
    next_at: at,
    lease: null,
    attempts: 0,
    last_attempt_at: null,
    last_result: '',
    payload: input.event.payload,
    created_at: at,
    finished_at: null,
  };
}

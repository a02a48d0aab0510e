/**
 * Moves a session's outbox events to deliveries, one per event and endpoint. Deterministic ids make a
 * repeated run harmless. The first event of a session is sent meanwhile.
 */
import { type Context, now } from '../../platform/context.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { insertDocuments } from '../../platform/store/insert-documents.ts';
import type { DeliveryDocument, DeliveryState } from '../../platform/store/models/delivery-model.ts';
import type { OutboxEvent, SessionDocument } from '../../platform/store/models/session-model.ts';
import { OUTBOX_DONE } from '../../platform/store/session-due.ts';
import { HandOver } from './hand-over.ts';
import { newDelivery } from './new-delivery.ts';
import { isFirstEvent } from './payload.ts';

type Parts = Pick<Context, 'models' | 'clock' | 'workSignals' | 'firstAttempts'>;

/**
 * Moves a session's outbox events to deliveries. May be repeated or run concurrently. `isJustStored`: this
 * process has just stored the session as it is, with its key; then hardly anybody else relays its first
 * event, and a repeat is harmless.
 */
export async function relayOutbox(
  context: Parts,
  session: SessionDocument,
  { isJustStored = false }: { readonly isJustStored?: boolean } = {},
): Promise<void> {
  const [first, second] = session.outbox;
  if (!first) return;
  const isFirst = isFirstEvent(first.event, session);
  const busy = isFirst ? new Set<string>() : await busyUrls(context, session._id);
  // The outbox keeps the event until its deliveries are stored: a crash before that only repeats it.
  const isSentMeanwhile = isJustStored && isFirst && !second;
  const waiting = new Set<string>();
  const handOver = new HandOver(context);
  try {
    // Events are inserted in order, so that a reader that sees a later one queued also sees the earlier ones.
    for (const event of session.outbox) {
      const documents = session.endpoints.map((endpoint, index) => {
        const state = busy.has(endpoint.url) ? 'queued' : 'pending';
        busy.add(endpoint.url);
        return toDelivery(context, { session, event, endpoint, index, state });
      });
      const deliveries = documents.map((document) => handOver.lease(document));
      if (isSentMeanwhile) handOver.begin(session);
      for (const url of await insertOnce(context, handOver, { documents, deliveries })) waiting.add(url);
      // Outcomes that waited for the outbox, too, might be stored after the lease.
      if (isSentMeanwhile) handOver.markStored();
    }
    if (await emptyOutbox(context, session)) handOver.begin(session);
  } finally {
    // After an error or an erasure it gives back. If that fails, the leases expire.
    await handOver.end();
  }
  for (const url of waiting) await promoteNext(context, session._id, url);
  if (waiting.size > 0) context.workSignals.notify('deliveries');
}

/**
 * Removes the events just inserted. False if the session has been erased in the meantime: `session` still
 * contains its key, with which nothing may be sent any more.
 */
async function emptyOutbox({ models }: Parts, { _id, outbox }: SessionDocument): Promise<boolean> {
  const ids = outbox.map(({ id }) => id);
  const relayed = { $pull: { outbox: { id: { $in: ids } } } };
  const unerased = { _id, wrapped_key: { $ne: null } };
  // An event that has come meanwhile is still due.
  const alone = { ...unerased, outbox: { $not: { $elemMatch: { id: { $nin: ids } } } } };
  for (const [filter, update] of [
    [alone, { ...relayed, ...OUTBOX_DONE }],
    [unerased, relayed],
  ]) {
    const { matchedCount } = await models.sessions.collection.updateOne(filter as never, update as never);
    if (matchedCount === 1) return true;
  }
  return false;
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
 * `deliveries` are the documents with their leases. Returns the endpoints of the queued ones.
 */
async function insertOnce(
  { models, workSignals }: Parts,
  handOver: HandOver,
  {
    documents,
    deliveries,
  }: { readonly documents: readonly DeliveryDocument[]; readonly deliveries: readonly DeliveryDocument[] },
): Promise<string[]> {
  const refused = new Set(await insertDocuments(models.deliveries, deliveries));
  for (const delivery of refused) handOver.withdraw(delivery);
  // Refused deliveries either exist already or must wait; inserted again as queued, only the existing ones
  // are refused again.
  const behind = documents
    .filter(({ state }, index) => state === 'pending' && refused.has(deliveries[index] as DeliveryDocument))
    .map((document) => ({ ...document, state: 'queued' as const }));
  await insertDocuments(models.deliveries, behind);
  if (deliveries.some(({ state, lease }) => state === 'pending' && lease === null))
    workSignals.notify('deliveries');
  return [...documents.filter(({ state }) => state === 'queued'), ...behind].map(({ url }) => url);
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
  return newDelivery(
    {
      _id: `${input.event.id}:${input.index}`,
      session_id: input.session._id,
      team_id: input.session.team_id,
      event: input.event.event,
      url: input.endpoint.url,
      secret: input.endpoint.secret,
      rank: input.event.rank,
      state: input.state,
      payload: input.event.payload,
    },
    now(context),
  );
}

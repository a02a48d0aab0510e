/** Hands a session's outbox to the deliveries: one per event and endpoint, under ids that make a second hand-over the same (store.md, "Outbox"). */
import { type Context, now } from '../context.ts';
import { isDuplicateKey } from '../store/duplicate-key.ts';
import type { DeliveryDocument } from '../store/models/delivery-model.ts';
import type { OutboxEvent, SessionDocument } from '../store/models/session-model.ts';

type Parts = Pick<Context, 'models' | 'clock' | 'bell'>;

/** Empties the outbox of a session into the deliveries; safe to repeat and to run twice at once. */
export async function relayOutbox(context: Parts, session: SessionDocument): Promise<void> {
  for (const event of session.outbox) {
    for (const [index, endpoint] of session.endpoints.entries()) await insertOnce(context, delivery(context, { session, event, endpoint, index }));
    await context.models.sessions.updateOne({ _id: session._id }, { $pull: { outbox: { id: event.id } } });
  }
  if (session.outbox.length === 0) return;
  for (const endpoint of session.endpoints) await promoteNext(context, session._id, endpoint.url);
  context.bell.ring('deliveries');
}

/** Makes an endpoint's next event of a session due, unless an earlier one is still on its way: a unique index decides, however many try. */
export async function promoteNext(context: Pick<Context, 'models' | 'clock'>, sessionId: string, url: string): Promise<void> {
  const next = await context.models.deliveries.findOne({ session_id: sessionId, url, state: 'queued' }).sort({ rank: 1 }).lean<DeliveryDocument>();
  if (!next) return;
  try {
    await context.models.deliveries.updateOne({ _id: next._id, state: 'queued' }, { $set: { state: 'pending', next_at: now(context) } });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

async function insertOnce(context: Parts, document: DeliveryDocument): Promise<void> {
  try {
    await context.models.deliveries.create(document);
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

function delivery(
  context: Parts,
  of: { session: SessionDocument; event: OutboxEvent; endpoint: SessionDocument['endpoints'][number]; index: number },
): DeliveryDocument {
  const at = now(context);
  return {
    _id: `${of.event.id}:${of.index}`,
    session_id: of.session._id,
    team_id: of.session.team_id,
    event: of.event.event,
    url: of.endpoint.url,
    secret: of.endpoint.secret,
    rank: of.event.rank,
    state: 'queued',
    next_at: at,
    lease: null,
    attempts: 0,
    last_attempt_at: null,
    last_result: '',
    payload: of.event.payload,
    created_at: at,
    finished_at: null,
  };
}

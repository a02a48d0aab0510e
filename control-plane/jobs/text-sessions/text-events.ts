/**
 * Webhook events of text sessions: stored as deliveries under fixed ids, so that a repetition after a crash
 * changes nothing. Only endpoints that ask for an event get it.
 */
import { type TextWebhookEvent, textWebhookEvent, type WebhookAnalysis } from '#protocol/webhook-events.ts';
import { newDelivery } from '../../calls/outbox/new-delivery.ts';
import { promoteNext } from '../../calls/outbox/relay.ts';
import { payloadContext, sealerOf } from '../../calls/sessions/session-store.ts';
import { postCallSecret } from '../../catalogue/agents/config-secrets.ts';
import { type Context, now } from '../../platform/context.ts';
import { insertDocuments } from '../../platform/store/insert-documents.ts';
import { fromJsonText } from '../../platform/store/json-text.ts';
import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';
import type { TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';

/** Position in the order of a session's events. */
const RANKS = { 'text_session.ended': 1, 'text_session.analyzed': 2 } as const;

/** The endpoints of a new session, as published. */
export function textEndpoints({
  config,
  secrets,
}: Pick<VersionDocument, 'config' | 'secrets'>): TextSessionDocument['endpoints'] {
  return config.webhooks.post_call.flatMap(({ url, extra_events: events }) =>
    events ? [{ url, events, secret: postCallSecret(secrets, url) }] : [],
  );
}

/** Stores the deliveries of an event. `analysis` belongs to `text_session.analyzed`. */
export async function sendTextEvent(
  context: Context,
  session: TextSessionDocument,
  event: TextWebhookEvent['event'],
  analysis: WebhookAnalysis | null = null,
): Promise<void> {
  const sealer = sealerOf(context, session);
  const endpoints = session.endpoints.filter(({ events }) => events.includes(event));
  if (!sealer || endpoints.length === 0) return;
  const id = `${session._id}:${event}`;
  const payload = sealer.seal(payloadOf(session, event, analysis), payloadContext(id));
  const at = now(context);
  const rank = RANKS[event];
  const pending = await context.models.deliveries
    .find({ session_id: session._id, state: { $in: ['queued', 'pending'] } }, { url: 1 })
    .lean<Pick<DeliveryDocument, 'url'>[]>();
  const deliveries = endpoints.map(({ url, secret }, index) =>
    newDelivery(
      {
        _id: `${id}:${index}`,
        session_id: session._id,
        team_id: session.team_id,
        event,
        url,
        secret,
        rank,
        state: pending.some((earlier) => earlier.url === url) ? 'queued' : 'pending',
        payload,
      },
      at,
    ),
  );
  const refused = await insertDocuments(context.models.deliveries, deliveries);
  // Refused because they are stored already, or because an earlier event has become pending meanwhile.
  await insertDocuments(
    context.models.deliveries,
    refused.map((delivery) => ({ ...delivery, state: 'queued' as const })),
  );
  for (const { url } of endpoints) await promoteNext(context, session._id, url);
  context.workSignals.notify('deliveries');
}

function payloadOf(
  session: TextSessionDocument,
  event: TextWebhookEvent['event'],
  analysis: WebhookAnalysis | null,
): Buffer {
  const facts = {
    id: session._id,
    agent_id: session.agent_id,
    agent_name: session.agent_name,
    branch_id: session.version_id,
    config_hash: session.config_hash,
    medium: session.medium,
    status: session.status,
    end_reason: session.end_reason,
    continued_from: session.continued_from,
    end_user_id: session.end_user_id ?? '',
    metadata: fromJsonText(session.metadata),
    message_count: session.turns,
    conversation_started_at: session.created_at.toISOString(),
    conversation_ended_at: session.ended_at?.toISOString() ?? null,
  };
  const content = { event, text_session: facts, ...(analysis && { analysis }) };
  return Buffer.from(JSON.stringify(textWebhookEvent.parse(content)));
}

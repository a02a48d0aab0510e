/**
 * Sends an event about an agent, not about one call, to the endpoints of a version that ask for it. It
 * travels with a session of the agent, whose key seals it and after whose events it is sent.
 */
import type { EXTRA_EVENTS } from '#config/agent-config.ts';
import { newDelivery } from '../calls/outbox/new-delivery.ts';
import { promoteNext } from '../calls/outbox/relay.ts';
import { loadSession, payloadContext, sealerOf } from '../calls/sessions/session-store.ts';
import { postCallSecret } from '../catalogue/agents/config-secrets.ts';
import { versionById } from '../catalogue/agents/newest-version.ts';
import { type Context, now } from '../platform/context.ts';
import { insertDocuments } from '../platform/store/insert-documents.ts';

/** After every other event of the session, whose analysis may be repeated many times. */
const RANK = 1_000_000;

/** An event about an agent. */
export interface AgentEvent {
  /** The same at every repetition, which then changes nothing. */
  readonly id: string;
  readonly body: { readonly event: (typeof EXTRA_EVENTS)[number] };
  readonly teamId: string;
  readonly sessionId: string;
  readonly versionId: string;
}

/** Stores the deliveries of an event, unless they are stored. */
export async function sendAgentEvent(
  context: Context,
  { id, body, teamId, sessionId, versionId }: AgentEvent,
): Promise<void> {
  const [session, version] = await Promise.all([
    loadSession(context, sessionId),
    versionById(context, versionId),
  ]);
  const sealer = session && sealerOf(context, session);
  const endpoints = (version?.config.webhooks.post_call ?? []).filter(({ extra_events: events }) =>
    events?.includes(body.event),
  );
  // Deliveries are sealed with the key of their session: one that has been erased meanwhile has none.
  if (!version || !sealer || endpoints.length === 0) return;
  const payload = sealer.seal(Buffer.from(JSON.stringify(body)), payloadContext(id));
  const at = now(context);
  const deliveries = endpoints.map(({ url }, index) =>
    newDelivery(
      {
        _id: `${id}:${index}`,
        session_id: sessionId,
        team_id: teamId,
        event: body.event,
        url,
        secret: postCallSecret(version.secrets, url),
        rank: RANK,
        state: 'queued',
        payload,
      },
      at,
    ),
  );
  await insertDocuments(context.models.deliveries, deliveries);
  for (const { url } of endpoints) await promoteNext(context, sessionId, url);
  context.workSignals.notify('deliveries');
}

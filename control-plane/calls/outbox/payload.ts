/** The session as webhooks report it, and the payload of each event. */
import {
  WEBHOOK_EVENTS,
  type WebhookAnalysis,
  type WebhookEvent,
  type WebhookSession,
  webhookEvent,
} from '#protocol/webhook-events.ts';
import { fromJsonText } from '../../platform/store/json-text.ts';
import type { OutboxEvent, SessionHead } from '../../platform/store/models/session-model.ts';

/** An event's id, and its position in its session's order; each run of a repeatable one has its own. */
export function identityOf(
  event: WebhookEvent['event'],
  session: SessionHead,
): Pick<OutboxEvent, 'id' | 'rank'> {
  const { rank, isRepeatable } = WEBHOOK_EVENTS[event];
  const id = `${session._id}:${event}`;
  const { runs } = session.analysis;
  return isRepeatable ? { id: `${id}:${runs}`, rank: rank + runs } : { id, rank };
}

/** Before this event, its session has no other that could keep an endpoint busy. */
export function isFirstEvent(
  event: WebhookEvent['event'],
  { direction }: Pick<SessionHead, 'direction'>,
): boolean {
  return event === (direction === 'outbound' ? 'phone_call.dial_finished' : 'call.ended');
}

/**
 * Builds the payload of an event from the session's current state; the bytes are built once and reused for
 * every attempt.
 */
export function payloadOf(
  event: WebhookEvent['event'],
  session: SessionHead,
  analysis: WebhookAnalysis | null,
): Buffer {
  return Buffer.from(JSON.stringify(webhookEvent.parse(eventOf(event, session, analysis))));
}

function eventOf(
  event: WebhookEvent['event'],
  session: SessionHead,
  analysis: WebhookAnalysis | null,
): WebhookEvent {
  const facts = sessionFacts(session);
  switch (event) {
    case 'phone_call.dial_finished':
      return { event, dial_status: session.dial_status, answered_by: session.answered_by, session: facts };
    case 'call.ended':
      return { event, ended_reason: session.end_reason, session: facts };
    case 'call.analyzed':
      if (!analysis) throw new Error('call.analyzed without an analysis');
      return { event, session: facts, analysis };
    default:
      return event satisfies never;
  }
}

function sessionFacts(session: SessionHead): WebhookSession {
  return {
    id: session._id,
    agent_id: session.agent_id,
    branch_id: session.version_id,
    source: session.source,
    status: session.status,
    direction: session.direction,
    dial_status: session.dial_status,
    answered_by: session.answered_by,
    batch_call_id: null,
    conversation_started_at: session.started_at?.toISOString() ?? null,
    conversation_ended_at: session.ended_at?.toISOString() ?? null,
    duration_seconds: session.duration_seconds,
    end_user_id: session.end_user_id ?? '',
    metadata: fromJsonText(session.metadata),
    agent_name: session.agent_name,
    config_hash: session.config_hash,
    end_reason: session.end_reason,
    caller_number: session.caller_number ?? '',
    dialed_number: session.dialed_number ?? '',
    sip_call_id: session.sip_call_id ?? '',
  };
}

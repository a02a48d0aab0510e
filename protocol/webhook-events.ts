/** Events posted to tenants' endpoints. Payloads only gain fields; receivers ignore unknown ones. */
import { z } from 'zod';
import { analysisResult, dialStatus, endReason } from './session-record.ts';

const at = z.iso.datetime();

/**
 * The session in every payload. Numbers and Call-ID are empty on web sessions; person-centric on outbound
 * calls.
 */
const webhookSession = z.object({
  id: z.string(),
  agent_id: z.string(),
  /** Id of the published version. */
  branch_id: z.string(),
  source: z.string(),
  status: z.string(),
  direction: z.enum(['inbound', 'outbound']),
  dial_status: dialStatus.nullable(),
  answered_by: z.literal('unknown').nullable(),
  batch_call_id: z.null(),
  conversation_started_at: at.nullable(),
  conversation_ended_at: at.nullable(),
  duration_seconds: z.number().int().nullable(),
  end_user_id: z.string(),
  metadata: z.record(z.string(), z.unknown()),
  agent_name: z.string(),
  config_hash: z.string(),
  end_reason: endReason.nullable(),
  caller_number: z.string(),
  dialed_number: z.string(),
  sip_call_id: z.string(),
});
export type WebhookSession = z.infer<typeof webhookSession>;

/** The analysis in `call.analyzed`. */
const webhookAnalysis = analysisResult.extend({ finished_at: at });
export type WebhookAnalysis = z.infer<typeof webhookAnalysis>;

/**
 * The events about a call. `rank` is the position in the session's order; it is stored with each delivery, so
 * a new event takes a number in between. A repeatable event's later runs rank after all others.
 */
export const WEBHOOK_EVENTS = {
  'phone_call.dial_finished': { rank: 1, isRepeatable: false },
  'call.ended': { rank: 2, isRepeatable: false },
  'call.analyzed': { rank: 3, isRepeatable: true },
} as const satisfies Record<WebhookEvent['event'], { readonly rank: number; readonly isRepeatable: boolean }>;

/** The payload of each event; the descriptions appear in `/openapi.json`. */
export const webhookEvent = z.discriminatedUnion('event', [
  z
    .object({
      event: z.literal('phone_call.dial_finished'),
      dial_status: dialStatus.nullable(),
      answered_by: z.literal('unknown').nullable(),
      session: webhookSession,
    })
    .describe('An outbound dial was answered or failed. Sent once per outbound call.'),
  z
    .object({ event: z.literal('call.ended'), ended_reason: endReason.nullable(), session: webhookSession })
    .describe('A call in which a participant connected has ended. Sent once per call.'),
  z
    .object({ event: z.literal('call.analyzed'), session: webhookSession, analysis: webhookAnalysis })
    .describe('The analysis of a call is finished. Sent again, with a newer finished_at, after each re-run.'),
]);
export type WebhookEvent = z.infer<typeof webhookEvent>;

/** A text session in the payloads of its events. */
const webhookTextSession = z.object({
  id: z.string(),
  agent_id: z.string(),
  agent_name: z.string(),
  /** Id of the published version. */
  branch_id: z.string(),
  config_hash: z.string(),
  medium: z.string(),
  status: z.string(),
  end_reason: z.string().nullable(),
  continued_from: z.string().nullable(),
  end_user_id: z.string(),
  metadata: z.record(z.string(), z.unknown()),
  message_count: z.number().int(),
  conversation_started_at: at,
  conversation_ended_at: at.nullable(),
});

/** Events about text sessions, for endpoints that ask for them in `extra_events`. */
export const textWebhookEvent = z.discriminatedUnion('event', [
  z
    .object({ event: z.literal('text_session.ended'), text_session: webhookTextSession })
    .describe('A text session has ended. Sent once, to endpoints that ask for it.'),
  z
    .object({
      event: z.literal('text_session.analyzed'),
      text_session: webhookTextSession,
      analysis: webhookAnalysis,
    })
    .describe('The analysis of a text session is finished. Sent once, to endpoints that ask for it.'),
]);
export type TextWebhookEvent = z.infer<typeof textWebhookEvent>;

const shareRate = z.object({
  calls: z.number().int().describe('Calls in which it can be told.'),
  hits: z.number().int().describe('Calls in which it happened.'),
});

/** The event about a share of calls, for endpoints that ask for it in `extra_events`. */
export const shareWebhookEvent = z
  .object({
    event: z.literal('share.stopped'),
    share: z
      .object({
        agent_id: z.string(),
        share_id: z.string().describe('Id of the share.'),
        version_number: z.number().int().describe('Number of the version that the share of callers had.'),
        published_version_number: z.number().int().describe('Number of the version beside it.'),
        stopped_at: at.describe('When it was stopped, RFC 3339 UTC.'),
        measure: z.string().describe('The rate that is certainly higher than beside it, such as `slow`.'),
        difference: z.number().describe('Rate of the share minus the rate beside it.'),
        low: z.number().describe('Lower end of the interval of the difference.'),
        high: z.number().describe('Upper end of the interval of the difference.'),
        calls: shareRate.describe('What the rate of the share is made of.'),
        published_calls: shareRate.describe('What the rate beside it is made of.'),
      })
      .describe('The share and the harm.'),
  })
  .describe(
    'A share of calls was stopped, because its version does harm. Sent once, to endpoints that ask for it.',
  );
export type ShareWebhookEvent = z.infer<typeof shareWebhookEvent>;

/** An alert about a rate of an agent, as webhooks and the API show it. */
export const scorecardAlert = z.object({
  alert_id: z.string().describe('Id of the alert, the same when it is opened and when it is closed.'),
  rate: z.string().describe('The rate: a tag such as `dead_air`, or `criterion:` and its name.'),
  side: z.enum(['above', 'below']).describe('On which side of its band the rate is.'),
  limit: z.number().describe('The limit that it has passed, 0 to 1.'),
  calls: z.number().int().describe('Calls in which it can be told, since the rate began to change.'),
  hits: z.number().int().describe('How many of them count for the rate.'),
  observed: z.number().describe('hits / calls.'),
  since: at.describe('When the first of these calls began, RFC 3339 UTC.'),
  opened_at: at.describe('When the alert was opened, RFC 3339 UTC.'),
  closed_at: at.nullable().describe('When it was closed, RFC 3339 UTC; null while it is open.'),
  close_reason: z
    .enum(['returned', 'changed'])
    .nullable()
    .describe('`returned`: the rate is back in its band; `changed`: its rule was changed or removed.'),
});

/** The event about a rate that leaves its band or returns, for endpoints that ask for it. */
export const scorecardWebhookEvent = z
  .object({
    event: z.literal('scorecard.alert'),
    alert: scorecardAlert
      .extend({
        agent_id: z.string(),
        state: z.enum(['open', 'closed']).describe('Whether the alert was opened or closed.'),
      })
      .describe('The alert and what it is made of.'),
  })
  .describe(
    'A rate of an agent has left its band, or is back. Sent once each, to endpoints that ask for it.',
  );
export type ScorecardWebhookEvent = z.infer<typeof scorecardWebhookEvent>;

/** Request of the init webhook. */
export const inboundCallEvent = z
  .object({
    event: z.literal('call.inbound'),
    call: z.object({
      /** E.164, empty if withheld. */
      caller_number: z.string(),
      dialed_number: z.string(),
      agent_id: z.string(),
      phone_number_id: z.string(),
      /** Empty if the call did not come through a bought number. */
      provider_call_sid: z.string(),
    }),
  })
  .describe('Sent to conversation_init before the agent answers an inbound phone call. Never retried.');
export type InboundCallEvent = z.infer<typeof inboundCallEvent>;

/** Header of the signature. */
export const SIGNATURE_HEADER = 'X-Service-Webhook-Signature';

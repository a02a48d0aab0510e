/**
 * Sends a test event to an endpoint of an agent, saved or not, and returns the answer: the payload, signature
 * and time limit are those of a real event, but there is no call, delivery or retry.
 */
import { z } from 'zod';
import { LIMITS } from '#config/limits.ts';
import type { InboundCallEvent, WebhookEvent } from '#protocol/webhook-events.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import { type Context, newId } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { triedRequest, tryRequest } from '../../platform/http/tried-request.ts';
import { testingServer } from '../../platform/limits/request-places.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import { postSigned } from './signed-post.ts';

const CALL_MS = 60_000;

const testEventBody = z.strictObject({
  event: z.enum(['call.ended', 'call.inbound']).default('call.ended'),
  url: z.string().min(1).max(LIMITS.urlChars),
  secret: z.string().max(LIMITS.webhookSecretChars).nullable().default(null),
});
type TestEvent = z.output<typeof testEventBody>;

/** Registers the route. */
export function registerTestEventRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/agents/:agent_id/webhooks/test',
    {
      schema: {
        tags: ['agents'],
        params: z.object({ agent_id: z.string() }),
        body: testEventBody,
        response: { 200: triedRequest },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const agent = await findAgent(context, caller.teamId, request.params.agent_id);
      return testingServer(context, caller, () => sendTestEvent(context, agent, request.body));
    },
  );
}

function sendTestEvent(context: Context, agent: AgentDocument, test: TestEvent) {
  const payload = Buffer.from(JSON.stringify(testPayload(agent, test.event, context.clock.wallTime())));
  return tryRequest(context, () =>
    postSigned(context, {
      url: test.url,
      secret: secretFor(context, agent, test),
      payload,
      timeoutMs: timeoutFor(agent, test),
      maxBytes: LIMITS.testedResponseBytes,
    }),
  );
}

/** The given secret, or else the one stored for this address; an empty one stands for none. */
function secretFor({ secretBox }: Context, { secrets }: AgentDocument, { event, url, secret }: TestEvent) {
  if (secret !== null) return secret === '' ? null : secret;
  const stored = event === 'call.inbound' ? secrets.conversation_init : secrets.post_call;
  const sealed = stored.find((key) => key.url === url)?.sealed;
  return sealed === undefined ? null : secretBox.open(sealed);
}

/** The time limit of a real event to this address, ms; the longest for an init webhook not in the draft. */
function timeoutFor({ config }: AgentDocument, { event, url }: TestEvent): number {
  if (event === 'call.ended') return LIMITS.webhookAttemptMs;
  const init = config.webhooks.conversation_init;
  return (init?.url === url ? init.timeout_seconds : LIMITS.initWebhookSeconds) * 1_000;
}

function testPayload(
  agent: AgentDocument,
  event: TestEvent['event'],
  atMs: number,
): InboundCallEvent | WebhookEvent {
  const numbers = { caller_number: '+14155550123', dialed_number: '+15550100000' };
  if (event === 'call.inbound')
    return {
      event,
      call: { ...numbers, agent_id: agent._id, phone_number_id: 'test', provider_call_sid: '' },
    };
  return {
    event,
    ended_reason: 'user_hangup',
    session: {
      id: newId(),
      agent_id: agent._id,
      branch_id: '',
      source: 'phone',
      status: 'completed',
      direction: 'inbound',
      dial_status: null,
      answered_by: null,
      batch_call_id: null,
      conversation_started_at: new Date(atMs - CALL_MS).toISOString(),
      conversation_ended_at: new Date(atMs).toISOString(),
      duration_seconds: CALL_MS / 1_000,
      end_user_id: '',
      metadata: { test: true },
      agent_name: agent.name,
      config_hash: agent.published_hash,
      end_reason: 'user_hangup',
      ...numbers,
      sip_call_id: 'test',
    },
  };
}

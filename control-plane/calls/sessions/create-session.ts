/**
 * Creates a web session: plan, charge, worker, transport. Shared by API keys, public pages and previews;
 * callers handle the differences.
 */
import { z } from 'zod';
import { type Payer, withinLimits } from '../../accounts/limits/spend-limits.ts';
import { withinWebSessionLimits } from '../../accounts/limits/web-session-limits.ts';
import { planKnowledge } from '../../catalogue/knowledge/plan-knowledge.ts';
import { type Context, newId } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { SessionShare } from '../../platform/store/models/session-share.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { buildPlan, refuseMissingVariables, sessionSeconds } from '../plans/build-plan.ts';
import { sessionTimezone } from '../plans/session-timezone.ts';
import { sessionDraft } from './new-session.ts';
import { assignSession, placeSession } from './place-session.ts';
import type { SessionRequest } from './session-request.ts';
import { chooseTransport, webGrant } from './web-transport.ts';

/** A validated request for a web session. */
export interface WebSessionInput {
  readonly agent: AgentDocument;
  readonly version: VersionDocument;
  /** Null for a call whose version no share has decided. */
  readonly share: SessionShare | null;
  /** A new one unless set. */
  readonly sessionId?: string;
  readonly payer: Payer;
  readonly source: SessionDocument['source'];
  readonly isPreview: boolean;
  readonly request: SessionRequest;
}

const joining = {
  session_id: z.string(),
  expires_at: z.iso.datetime(),
  max_duration_seconds: z.number().int(),
};
/** Connection data for the client. */
export const webSessionRecord = z.discriminatedUnion('transport', [
  webGrant.options[0].extend(joining),
  webGrant.options[1].extend(joining),
]);
export type WebSession = z.output<typeof webSessionRecord>;

/**
 * Creates the session. Throws `InvalidRequest`, `too_many_at_once`, `too_many_a_minute`, `daily_cap_reached`,
 * `concurrent_calls_reached`, `out_of_credit`, `no_capacity`, `draining`, `gateway_unreachable`; after an
 * error nothing stays charged.
 */
export async function createWebSession(context: Context, input: WebSessionInput): Promise<WebSession> {
  const { agent, payer } = input;
  const { sessionId = newId() } = input;
  const kind = input.isPreview ? 'preview' : input.source === 'public' ? 'visitor' : 'own';
  return withinWebSessionLimits(context, { sessionId, userId: payer.userId, kind }, () =>
    input.isPreview
      ? create(context, sessionId, input)
      : withinLimits(context, { agent, payer, sessionId }, () => create(context, sessionId, input)),
  );
}

async function create(context: Context, sessionId: string, input: WebSessionInput): Promise<WebSession> {
  const { agent, version, request } = input;
  const timezone = sessionTimezone({
    requested: request.timezone ?? null,
    agent: version.config.conversation.timezone,
    client: request.client_timezone ?? null,
    phoneNumber: '',
  });
  const maxSeconds = sessionSeconds(version.config, input.isPreview);
  const transport = await chooseTransport(context, sessionId, maxSeconds);
  const plan = buildPlan(context, {
    sessionId,
    agent,
    version,
    knowledge: await planKnowledge(context, version),
    channel: 'web_voice',
    transport: transport.plan,
    timezone,
    callerNumber: '',
    dialedNumber: '',
    overrides: request.overrides ?? {},
    variables: request.dynamic_variables ?? {},
    endUserId: request.end_user_id ?? null,
    llmExtraBody: request.llm_extra_body ?? null,
    recordAudio: request.record_audio ?? null,
    toolEvents: request.tool_events,
    worldContext: request.world_context,
    isPreview: input.isPreview,
  });
  refuseMissingVariables(plan);
  const draft = sessionDraft(context, {
    sessionId,
    agent,
    version,
    share: input.share,
    userId: input.payer.userId,
    channel: 'web_voice',
    source: input.source,
    direction: 'inbound',
    isPreview: input.isPreview,
    name: request.name ?? null,
    timezone,
    endUserId: request.end_user_id ?? null,
    metadata: request.metadata ?? {},
    callerNumber: null,
    dialedNumber: null,
    sipCallId: null,
    recordAudio: plan.record_audio,
    tokenHash: transport.tokenHash,
    room: transport.room,
  });
  await assignSession(
    context,
    await placeSession(context, draft, { kind: 'web', plan }),
    plan,
    transport.prepare,
  );
  context.logger.info({ sessionId, agentId: agent._id, source: input.source }, 'session created');
  return {
    session_id: sessionId,
    expires_at: draft.expires_at.toISOString(),
    max_duration_seconds: maxSeconds,
    ...transport.grant,
  };
}

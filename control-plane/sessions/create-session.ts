/** Creates a web session: plan, charge, worker, token. Called for keys, public pages and previews; the differences are theirs, not here. */
import { createHash, randomBytes } from 'node:crypto';
import { buildPlan, refuseMissingVariables, sessionSeconds } from '../calls/build-plan.ts';
import { sessionTimezone } from '../calls/session-timezone.ts';
import { type Context, newId } from '../context.ts';
import { plannedKnowledge } from '../knowledge/planned-knowledge.ts';
import { requireWithinLimits } from '../limits/spend-limits.ts';
import type { AgentDocument } from '../store/models/agent-model.ts';
import type { SessionDocument } from '../store/models/session-model.ts';
import type { VersionDocument } from '../store/models/version-model.ts';
import { openSession } from './charge.ts';
import { keepPlan, sessionDraft } from './new-session.ts';
import { assignSession, placeSession } from './place-session.ts';
import type { SessionRequest } from './session-request.ts';

/** A checked request for a web session. */
export interface WebSessionInput {
  readonly agent: AgentDocument;
  readonly version: VersionDocument;
  /** Who pays. */
  readonly userId: string;
  readonly source: SessionDocument['source'];
  readonly isPreview: boolean;
  readonly request: SessionRequest;
}

/** What a client needs to connect (S§4.11, supplement 4.1). */
export interface WebSession {
  readonly session_id: string;
  readonly expires_at: string;
  readonly max_duration_seconds: number;
  readonly transport: 'webrtc';
  readonly webrtc_url: string;
  readonly token: string;
  readonly ice_servers: { urls: string | string[]; username?: string | undefined; credential?: string | undefined }[];
}

/** Creates the session. Throws `InvalidRequest`, `daily_cap_reached`, `concurrent_calls_reached`, `out_of_credit`, `no_capacity`, `draining`, `gateway_unreachable`; nothing stays charged then. */
export async function createWebSession(context: Context, input: WebSessionInput): Promise<WebSession> {
  const { agent, version, request } = input;
  if (!input.isPreview) await requireWithinLimits(context, agent, input.userId);
  const sessionId = newId();
  const timezone = sessionTimezone({
    requested: request.timezone ?? null,
    agent: version.config.conversation.timezone,
    client: request.client_timezone ?? null,
    phoneNumber: '',
  });
  const plan = buildPlan(context, {
    sessionId,
    agent,
    version,
    knowledge: await plannedKnowledge(context, version),
    channel: 'web_voice',
    transport: { type: 'webrtc' },
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
  const token = randomBytes(32).toString('base64url');
  const draft = sessionDraft(context, {
    sessionId,
    agent,
    version,
    userId: input.userId,
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
    tokenHash: hashToken(token),
  });
  const session = await openSession(context, draft);
  const [placed] = await Promise.all([placeSession(context, session, 'web'), keepPlan(context, session, plan)]);
  await assignSession(context, placed, plan);
  context.logger.info({ sessionId, agentId: agent._id, source: input.source }, 'session created');
  return {
    session_id: sessionId,
    expires_at: session.expires_at.toISOString(),
    max_duration_seconds: sessionSeconds(plan.config, input.isPreview),
    transport: 'webrtc',
    webrtc_url: `${context.publicUrl()}/v1/agent/sessions/${sessionId}/webrtc`,
    token,
    ice_servers: [...context.settings.ICE_SERVERS],
  };
}

/** What is stored of a client's token. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

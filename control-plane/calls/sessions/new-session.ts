/** The stored form of a new session, and its plan, stored separately for later use (analysis). */
import { type CallPlan, callPlan } from '#protocol/call-plan.ts';
import { postCallSecret } from '../../catalogue/agents/config-secrets.ts';
import { type Context, now } from '../../platform/context.ts';
import { toJsonText } from '../../platform/store/json-text.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { SessionAttachment, SessionDocument } from '../../platform/store/models/session-model.ts';
import type { SessionShare } from '../../platform/store/models/session-share.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { DUE_BITS } from '../../platform/store/session-due.ts';
import { NO_LINKS } from './call-chain.ts';
import { openingBilling } from './charge.ts';
import { openJson } from './sealed-contents.ts';
import { sealerOf } from './session-store.ts';
import { attach } from './timeline.ts';

/** Parameters of a new session. */
export interface NewSession {
  readonly sessionId: string;
  readonly agent: AgentDocument;
  readonly version: VersionDocument;
  /** Null for a call whose version no share has decided. */
  readonly share: SessionShare | null;
  /** The account that pays. */
  readonly userId: string;
  readonly channel: SessionDocument['channel'];
  readonly source: SessionDocument['source'];
  readonly direction: SessionDocument['direction'];
  readonly isPreview: boolean;
  readonly name: string | null;
  readonly timezone: string | null;
  readonly endUserId: string | null;
  readonly metadata: Record<string, unknown>;
  readonly callerNumber: string | null;
  readonly dialedNumber: string | null;
  readonly sipCallId: string | null;
  /** Caller headers and X- headers from the INVITE of an inbound call; names in lower case. */
  readonly sipHeaders?: Readonly<Record<string, string>>;
  readonly recordAudio: boolean;
  readonly tokenHash: string | null;
  /** LiveKit room of the session. */
  readonly room?: string | null;
}

/** Builds the document of a session that is about to be charged. */
export function sessionDraft(context: Context, input: NewSession): SessionDocument {
  const at = now(context);
  const { agent, version } = input;
  const { sealer, wrappedKey } = context.dataKeys.create(input.sessionId);
  return {
    _id: input.sessionId,
    team_id: agent.team_id,
    workspace_id: agent.workspace_id,
    user_id: input.userId,
    agent_id: agent._id,
    agent_name: agent.name,
    version_id: input.isPreview ? '' : version._id,
    config_hash: version.config_hash,
    name: input.name,
    channel: input.channel,
    source: input.source,
    direction: input.direction,
    is_preview: input.isPreview,
    is_listed: !input.isPreview,
    status: 'creating',
    end_reason: null,
    dial_status: null,
    answered_by: null,
    caller_number: input.callerNumber,
    dialed_number: input.dialedNumber,
    sip_call_id: input.sipCallId,
    sip_headers: input.sipHeaders ? sealer.seal(JSON.stringify(input.sipHeaders), 'sip_headers') : null,
    timezone: input.timezone,
    end_user_id: input.endUserId,
    metadata: toJsonText(input.metadata),
    created_at: at,
    expires_at: new Date(at.getTime() + context.settings.SESSION_JOIN_SECONDS * 1000),
    started_at: null,
    ended_at: null,
    duration_seconds: null,
    status_at: at,
    worker: null,
    epoch: 0,
    last_seq: 0,
    billing: openingBilling(context, input.channel, input.isPreview),
    outbox: [],
    endpoints: input.isPreview ? [] : endpointsOf(version),
    wrapped_key: wrappedKey,
    timeline: [],
    turns: [],
    silences: [],
    takeovers: [],
    usage: [],
    chain_head: NO_LINKS,
    media_quality: null,
    record_audio: input.recordAudio,
    tracks: [],
    dialog: null,
    person: null,
    analysis: { state: 'none', at, job_id: '', losses: {}, runs: 0, finished_at: null, result: null },
    token_hash: input.tokenHash,
    room: input.room ?? null,
    participants: [],
    due: input.share ? DUE_BITS.live | DUE_BITS.share : DUE_BITS.live,
    ...(input.share ? { share: input.share } : {}),
  };
}

/**
 * Stores a session's plan, encrypted. Its knowledge stays with the version, and `llm_extra_body` is not
 * stored.
 */
export async function storePlan(context: Context, session: SessionDocument, plan: CallPlan): Promise<void> {
  const sealed = sealerOf(context, session)?.seal(
    JSON.stringify({ ...plan, knowledge: [], llm_extra_body: null }),
    'plan',
  );
  if (sealed) await attach(context, { _id: planId(session._id), session_id: session._id, sealed });
}

/** Reads a session's plan; null once its key has been destroyed. */
export async function readPlan(context: Context, session: SessionDocument): Promise<CallPlan | null> {
  const kept = await context.models.sessionAttachments
    .findById(planId(session._id))
    .lean<SessionAttachment>();
  return openJson(sealerOf(context, session), kept?.sealed, 'plan', callPlan);
}

function planId(sessionId: string): string {
  return `${sessionId}:plan`;
}

/**
 * The version's webhook endpoints with their encrypted secrets, copied so that later changes to the agent do
 * not affect the session.
 */
function endpointsOf(version: VersionDocument): SessionDocument['endpoints'] {
  return version.config.webhooks.post_call.map(({ url }) => ({
    url,
    secret: postCallSecret(version.secrets, url),
  }));
}

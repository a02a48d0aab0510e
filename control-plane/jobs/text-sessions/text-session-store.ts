/** Text sessions in the store: created with a frozen plan, found, ended. */
import { fault } from '#config/errors.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { TextMedium } from '#protocol/text-turn.ts';
import { type Payer, requireDailyCaps } from '../../accounts/limits/spend-limits.ts';
import { buildPlan, refuseMissingVariables } from '../../calls/plans/build-plan.ts';
import { sessionTimezone } from '../../calls/plans/session-timezone.ts';
import { storeParts } from '../../calls/texts/text-session-parts.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { insertDocument } from '../../platform/store/insert-documents.ts';
import { toJsonText } from '../../platform/store/json-text.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { SessionShare } from '../../platform/store/models/session-share.ts';
import type { TextEndReason, TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { requireFewer } from '../../platform/store/stored-count.ts';
import { earlierContext } from './earlier-context.ts';
import { textEndpoints } from './text-events.ts';
import type { TextSessionRequest } from './text-session-request.ts';

const MINUTE_MS = 60_000;
const RETRY_SECONDS = 60;

/** The parts of a new text session. */
export interface TextSessionInput {
  readonly agent: AgentDocument;
  readonly version: VersionDocument;
  /** Null if no share has decided the version. */
  readonly share: SessionShare | null;
  readonly payer: Payer;
  readonly medium: TextMedium;
  /** The numbers of a conversation by SMS. */
  readonly sms?: NonNullable<TextSessionDocument['sms']>;
  readonly request: TextSessionRequest;
  /** A new one unless set. */
  readonly sessionId?: string;
}

/** Finds a session of a team. Throws `not_found`. */
export async function findTextSession(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  sessionId: string,
): Promise<TextSessionDocument> {
  const session = await models.textSessions
    .findOne({ _id: sessionId, team_id: teamId })
    .lean<TextSessionDocument>();
  if (!session) throw fault('not_found');
  return session;
}

/**
 * Creates a session. Nothing is charged yet: each message is. Throws `InvalidRequest`, `not_found` for an
 * unknown session to continue, `out_of_credit`, `daily_cap_reached`, `too_many_at_once`.
 */
export async function createTextSession(
  context: Context,
  input: TextSessionInput,
): Promise<TextSessionDocument> {
  const { agent, version, share, payer, medium, sms, request, sessionId = newId() } = input;
  await requireMessages(context, input);
  const earlier = await earlierContext(context, agent, request.continue_session_id ?? null);
  const endUserId = request.end_user_id ?? earlier?.endUserId ?? null;
  const plan = planOf(context, sessionId, { ...input, request: { ...request, end_user_id: endUserId } });
  refuseMissingVariables(plan);
  const at = now(context);
  const { sealer, wrappedKey } = context.dataKeys.create(sessionId);
  const session: TextSessionDocument = {
    _id: sessionId,
    team_id: agent.team_id,
    workspace_id: agent.workspace_id,
    user_id: payer.userId,
    agent_id: agent._id,
    agent_name: agent.name,
    version_id: version._id,
    config_hash: version.config_hash,
    medium,
    status: 'active',
    end_reason: null,
    continued_from: earlier?.sessionId ?? null,
    end_user_id: endUserId,
    ...(sms && { sms }),
    metadata: toJsonText(request.metadata ?? {}),
    turns: 0,
    created_at: at,
    last_at: at,
    idle_at: idleFrom(context),
    ended_at: null,
    wrapped_key: wrappedKey,
    endpoints: textEndpoints(version),
    analysis: { state: 'none', at, job_id: '', losses: {}, runs: 0, finished_at: null, result: null },
    instance_id: null,
    epoch: 0,
    ...(share && { share }),
  };
  // Before the session: one that is found has its plan.
  await storeParts(context, sessionId, { sealer, plan, earlier: earlier?.items ?? null });
  await insertDocument(context.models.textSessions, session);
  context.logger.info({ textSessionId: sessionId, agentId: agent._id, medium }, 'text session created');
  return session;
}

/** Looks for the session of an interrupted creation. Parts of it, whose key is lost, are given up. */
export async function leftByTextSession(
  { models }: Pick<Context, 'models'>,
  sessionId: string,
): Promise<'made' | 'given_up'> {
  return (await models.textSessions.exists({ _id: sessionId })) ? 'made' : 'given_up';
}

/** When a session ends unless something more is written. */
export function idleFrom({ clock, settings }: Pick<Context, 'clock' | 'settings'>): Date {
  return new Date(clock.wallTime() + settings.TEXT_IDLE_MINUTES * MINUTE_MS);
}

/** Ends a session; null if it had ended. Turns that wait are settled by the runner. */
export async function endTextSession(
  context: Context,
  sessionId: string,
  reason: TextEndReason,
): Promise<TextSessionDocument | null> {
  const at = now(context);
  const ended = await context.models.textSessions
    .findOneAndUpdate(
      // A message may have come while it was found idle.
      { _id: sessionId, status: 'active', ...(reason === 'idle' && { idle_at: { $lte: at } }) },
      {
        $set: {
          status: 'ended',
          end_reason: reason,
          ended_at: at,
          'analysis.state': 'queued',
          'analysis.at': at,
        },
      },
      { returnDocument: 'after' },
    )
    .lean<TextSessionDocument>();
  if (ended) {
    context.metrics.textSessionsEnded.inc({ reason });
    context.workSignals.notify('text-sessions');
  }
  return ended;
}

/** Refuses before anything is stored what would be refused at the first message. */
async function requireMessages(context: Context, { agent, payer }: TextSessionInput): Promise<void> {
  const { PRICE_TEXT_PER_MESSAGE: price, LIMIT_TEXT_SESSIONS: limit } = context.settings;
  await requireDailyCaps(context, { agent, payer });
  const balance = (await context.ledger.newest(payer.userId))?.balanceMicros ?? 0;
  if (price > 0 && balance < price) throw fault('out_of_credit');
  await requireFewer(
    context.models.textSessions,
    { user_id: payer.userId, status: 'active' },
    { limit, what: 'text sessions', remedy: 'end one', seconds: RETRY_SECONDS },
  );
}

/** As for a call, but without a transport, and without knowledge, which stays with the version. */
function planOf(
  context: Context,
  sessionId: string,
  { agent, version, medium, sms, request }: TextSessionInput,
): CallPlan {
  const plan = buildPlan(context, {
    sessionId,
    agent,
    version,
    knowledge: [],
    channel: 'web_voice',
    transport: { type: 'webrtc' },
    timezone: sessionTimezone({
      requested: request.timezone ?? null,
      agent: version.config.conversation.timezone,
      client: request.client_timezone ?? null,
      phoneNumber: sms?.person ?? '',
    }),
    callerNumber: sms?.person ?? '',
    dialedNumber: sms?.own ?? '',
    overrides: request.overrides ?? {},
    variables: request.dynamic_variables ?? {},
    endUserId: request.end_user_id ?? null,
    llmExtraBody: null,
    recordAudio: false,
    toolEvents: false,
    worldContext: request.world_context,
    isPreview: false,
  });
  return { ...plan, system_variables: { ...plan.system_variables, channel: medium } };
}

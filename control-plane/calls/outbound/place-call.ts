/** Places an outbound call: checks, charge, worker, plan. The worker dials and reports the outcome. */

import { Fault, fault } from '#config/errors.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { withinLimits } from '../../accounts/limits/spend-limits.ts';
import { planKnowledge } from '../../catalogue/knowledge/plan-knowledge.ts';
import { type Context, now } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { buildPlan, refuseMissingVariables } from '../plans/build-plan.ts';
import { sessionTimezone } from '../plans/session-timezone.ts';
import { runFollowUps } from '../sessions/after-session-change.ts';
import { sessionDraft } from '../sessions/new-session.ts';
import { assignSession, openUnplacedSession, placeSession } from '../sessions/place-session.ts';
import { changeKnownSession } from '../sessions/session-store.ts';
import { type AllowedCall, checkOutbound, type OutboundAccount } from './check-outbound.ts';
import { outboundTransport } from './outbound-transport.ts';
import type { PhoneCallRequest } from './phone-call-request.ts';
import { requireModestRate } from './toll-guard.ts';
import { planTransfers } from './transfer-plan.ts';
import { placeOnTrunk } from './trunk-limits.ts';

/** A call not answered within this time is ended as unanswered. */
const RING_SECONDS = 30;
/** A worker that has not reported by this long after the ringing time is considered lost. */
const OVERDUE_SECONDS = 30;

/** Extra settings of a call placed by a batch. */
export interface BatchTerms {
  readonly endUserId: string | null;
  readonly outreach: CallPlan['outreach'];
}

/** A call to place; `batch` is set for a call of a batch. */
export type CallRequest = PhoneCallRequest & { readonly batch?: BatchTerms };

const NO_TRUNK =
  'No SIP trunk to dial through: set SIP_TRUNK_URI and start again, or call from a number with its own trunk';

const SINGLE_CALL: BatchTerms = { endUserId: null, outreach: null };

/**
 * Places the call under this session id. Throws `InvalidRequest`, the `Fault`s of `checkOutbound`, those of
 * the agent's, account's and trunk's limits, `insufficient_credit`, `no_capacity`, `draining` and
 * `gateway_unreachable`; after an error nothing stays charged.
 */
export async function placeCall(
  context: Context,
  caller: OutboundAccount,
  sessionId: string,
  request: CallRequest,
): Promise<void> {
  const allowed = await checkOutbound(context, caller, request, sessionId);
  await withinLimits(context, { agent: allowed.agent, payer: caller, sessionId }, () =>
    place(context, { caller, sessionId, request, allowed }),
  );
}

async function place(
  context: Context,
  input: {
    readonly caller: OutboundAccount;
    readonly sessionId: string;
    readonly request: CallRequest;
    readonly allowed: AllowedCall;
  },
): Promise<void> {
  const { caller, sessionId, request, allowed } = input;
  const terms = request.batch ?? SINGLE_CALL;
  const transport = await outboundTransport(context, {
    ...allowed,
    sessionId,
    sipHeaders: request.sip_headers ?? {},
    ringSeconds: RING_SECONDS,
    extension: request.extension ?? null,
  });
  const { agent, version, share, toNumber } = allowed;
  await requireModestRate(context, caller, allowed.number);
  const timezone = sessionTimezone({
    requested: null,
    agent: version.config.conversation.timezone,
    client: null,
    phoneNumber: toNumber,
  });
  const plan = await planOf(context, { sessionId, request, allowed, transport, timezone, terms });
  refuseMissingVariables(plan);
  const draft = {
    ...sessionDraft(context, {
      sessionId,
      agent,
      version,
      share,
      userId: caller.userId,
      channel: 'phone_outbound',
      source: 'phone',
      direction: 'outbound',
      isPreview: false,
      name: null,
      timezone,
      endUserId: terms.endUserId,
      metadata: request.metadata ?? {},
      // Outbound calls name the numbers from the human party's side: the caller is the party dialled.
      callerNumber: toNumber,
      dialedNumber: allowed.number.phone_number,
      sipCallId: null,
      recordAudio: plan.record_audio,
      tokenHash: null,
    }),
    expires_at: new Date(context.clock.wallTime() + (RING_SECONDS + OVERDUE_SECONDS) * 1000),
  };
  if (transport.to_uri === '') return failWithoutTrunk(context, draft);
  const call = { number: allowed.number, sessionId };
  const placed = await placeOnTrunk(context, call, () =>
    refusedForCredit(placeSession(context, draft, { kind: 'phone', plan })),
  );
  await assignSession(context, placed, plan);
  context.logger.info({ sessionId, agentId: agent._id }, 'call placed');
}

async function planOf(
  context: Context,
  input: {
    readonly sessionId: string;
    readonly request: PhoneCallRequest;
    readonly allowed: AllowedCall;
    readonly transport: CallPlan['transport'];
    readonly timezone: string | null;
    readonly terms: BatchTerms;
  },
): Promise<CallPlan> {
  const { sessionId, request, transport, timezone, terms } = input;
  const { agent, version, number, toNumber } = input.allowed;
  return buildPlan(context, {
    sessionId,
    agent,
    version,
    knowledge: await planKnowledge(context, version),
    channel: 'phone_outbound',
    transport,
    timezone,
    callerNumber: toNumber,
    dialedNumber: number.phone_number,
    overrides: request.overrides ?? {},
    variables: request.dynamic_variables ?? {},
    endUserId: terms.endUserId,
    llmExtraBody: request.llm_extra_body ?? null,
    recordAudio: null,
    toolEvents: false,
    worldContext: true,
    isPreview: false,
    outreach: terms.outreach,
    transfer: await planTransfers(context, number, {
      sessionId,
      config: version.config,
      callerNumber: toNumber,
    }),
  });
}

/** Maps `out_of_credit` to the error code of phone calls. */
async function refusedForCredit<Opened>(opening: Promise<Opened>): Promise<Opened> {
  try {
    return await opening;
  } catch (error) {
    throw error instanceof Fault && error.code === 'out_of_credit' ? fault('insufficient_credit') : error;
  }
}

/**
 * Without a configured trunk (`SIP_TRUNK_URI`) there is nothing to dial, so the call fails like one refused
 * by the trunk.
 */
async function failWithoutTrunk(context: Context, draft: SessionDocument): Promise<void> {
  const failing = { ...draft, dial_error: NO_TRUNK };
  const session = await refusedForCredit(openUnplacedSession(context, failing));
  context.logger.warn({ sessionId: session._id }, 'SIP_TRUNK_URI is not set, so the call cannot be dialled');
  const ended = await changeKnownSession(context, session, {
    type: 'ended',
    at: now(context),
    reason: 'dial_failed',
  });
  if (ended) await runFollowUps(context, ended);
}

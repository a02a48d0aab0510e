/**
 * Places an outbound call: checks, charge, worker, plan. The worker dials; how that ended comes back as a
 * report.
 */

import { Fault, fault } from '#config/errors.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { withinLimits } from '../../accounts/limits/spend-limits.ts';
import { plannedKnowledge } from '../../catalogue/knowledge/planned-knowledge.ts';
import { type Context, now } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { buildPlan, refuseMissingVariables } from '../plans/build-plan.ts';
import { sessionTimezone } from '../plans/session-timezone.ts';
import { runFollowUps } from '../sessions/after-session-change.ts';
import { sessionDraft } from '../sessions/new-session.ts';
import { assignSession, openPlacedSession, openSession } from '../sessions/place-session.ts';
import { changeKnownSession } from '../sessions/session-store.ts';
import { type AllowedCall, checkOutbound, type OutboundCaller } from './check-outbound.ts';
import { outboundTransport } from './outbound-transport.ts';
import type { PhoneCallRequest } from './phone-call-request.ts';
import { requireModestRate } from './toll-guard.ts';
import { planTransfers } from './transfer-plan.ts';
import { placeOnTrunk } from './trunk-limits.ts';

/** What is not answered within this time is not answered. */
const RING_SECONDS = 30;
/** A worker that has told nothing this long after the ringing never will. */
const OVERDUE_SECONDS = 30;

/** What a call of a batch has beyond a single one. */
export interface BatchTerms {
  readonly endUserId: string | null;
  readonly outreach: CallPlan['outreach'];
}

/** A call to place; `batch` where it is one of many. */
export type CallRequest = PhoneCallRequest & { readonly batch?: BatchTerms };

const SINGLE_CALL: BatchTerms = { endUserId: null, outreach: null };

/**
 * Places the call under this session id. Throws `InvalidRequest` and the `Fault`s of `checkOutbound`, the
 * spend limits, the trunk's and the account's, `insufficient_credit`, `no_capacity`, `draining`,
 * `gateway_unreachable`; nothing stays charged then.
 */
export async function placeCall(
  context: Context,
  caller: OutboundCaller,
  sessionId: string,
  request: CallRequest,
): Promise<void> {
  const allowed = await checkOutbound(context, caller, request);
  await withinLimits(context, { agent: allowed.agent, payer: caller, sessionId }, () =>
    place(context, { caller, sessionId, request, allowed }),
  );
}

async function place(
  context: Context,
  of: {
    readonly caller: OutboundCaller;
    readonly sessionId: string;
    readonly request: CallRequest;
    readonly allowed: AllowedCall;
  },
): Promise<void> {
  const { caller, sessionId, request, allowed } = of;
  const terms = request.batch ?? SINGLE_CALL;
  const transport = outboundTransport(context, {
    ...allowed,
    sessionId,
    sipHeaders: request.sip_headers ?? {},
    ringSeconds: RING_SECONDS,
  });
  const { agent, version, toNumber } = allowed;
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
      userId: caller.userId,
      channel: 'phone_outbound',
      source: 'phone',
      direction: 'outbound',
      isPreview: false,
      name: null,
      timezone,
      endUserId: terms.endUserId,
      metadata: request.metadata ?? {},
      // Numbers of an outbound call are told from the person's side: the caller is the party dialled.
      callerNumber: toNumber,
      dialedNumber: allowed.number.phone_number,
      sipCallId: null,
      recordAudio: plan.record_audio,
      tokenHash: null,
    }),
    expires_at: new Date(context.clock.wallTime() + (RING_SECONDS + OVERDUE_SECONDS) * 1000),
  };
  if (transport.to_uri === '')
    return failWithoutTrunk(context, await refusedForCredit(openSession(context, draft)));
  const call = { number: allowed.number, sessionId };
  const placed = await placeOnTrunk(context, call, () =>
    refusedForCredit(openPlacedSession(context, draft, { kind: 'phone', plan })),
  );
  await assignSession(context, placed, plan);
  context.logger.info({ sessionId, agentId: agent._id }, 'call placed');
}

async function planOf(
  context: Context,
  of: {
    readonly sessionId: string;
    readonly request: PhoneCallRequest;
    readonly allowed: AllowedCall;
    readonly transport: CallPlan['transport'];
    readonly timezone: string | null;
    readonly terms: BatchTerms;
  },
): Promise<CallPlan> {
  const { sessionId, request, transport, timezone, terms } = of;
  const { agent, version, number, toNumber } = of.allowed;
  return buildPlan(context, {
    sessionId,
    agent,
    version,
    knowledge: await plannedKnowledge(context, version),
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

/** The word phone calls have for a wallet that cannot pay. */
async function refusedForCredit<Opened>(opening: Promise<Opened>): Promise<Opened> {
  try {
    return await opening;
  } catch (error) {
    throw error instanceof Fault && error.code === 'out_of_credit' ? fault('insufficient_credit') : error;
  }
}

/**
 * A deployment without a trunk has nowhere to dial: the call fails as one the trunk refused
 * (`SIP_TRUNK_URI`).
 */
async function failWithoutTrunk(context: Context, session: SessionDocument): Promise<void> {
  context.logger.warn({ sessionId: session._id }, 'no SIP_TRUNK_URI to dial through');
  const ended = await changeKnownSession(context, session, {
    type: 'ended',
    at: now(context),
    reason: 'dial_failed',
  });
  if (ended) await runFollowUps(context, ended);
}

/**
 * Admission of an inbound phone call, requested by signalling before a worker is chosen. The order of checks
 * is fixed: number 404, source 403, digest 407, agent 486, limits 486 or 503, credit and capacity 503, then
 * 488 if signalling can detect it. An admitted call is charged and placed, and gets its plan once its init
 * webhook has finished.
 */

import { networkOf } from '#base/network-of.ts';
import { Fault, fault } from '#config/errors.ts';
import { type AdmissionAnswer, type AdmissionRequest, keptHeaders } from '#protocol/sip-admission.ts';
import { isE164 } from '#telephony/e164.ts';
import { withinLimits } from '../../accounts/limits/spend-limits.ts';
import { loadPublished } from '../../catalogue/agents/publish.ts';
import { plannedKnowledge } from '../../catalogue/knowledge/planned-knowledge.ts';
import { type Context, newId } from '../../platform/context.ts';
import { logRefusal } from '../../platform/refusals/log-refusal.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { planTransfers } from '../outbound/transfer-plan.ts';
import { buildPlan } from '../plans/build-plan.ts';
import { sessionTimezone } from '../plans/session-timezone.ts';
import { keepPlan, sessionDraft } from '../sessions/new-session.ts';
import {
  assignSession,
  openPlacedSession,
  type PlacedSession,
  refuseSession,
} from '../sessions/place-session.ts';
import { loadSession } from '../sessions/session-store.ts';
import { findAddressee } from './addressee.ts';
import { askInitWebhook } from './init-webhook.ts';

/** Retry-After for callers refused for lack of capacity, in seconds. */
const RETRY_AFTER = '10';

const REASONS: Readonly<Record<number, string>> = {
  403: 'Forbidden',
  404: 'Not Found',
  407: 'Proxy Authentication Required',
  486: 'Busy Here',
  488: 'Not Acceptable Here',
  500: 'Server Internal Error',
  503: 'Service Unavailable',
};

/** The answer to signalling; `planned` resolves when the call has its plan or was given up. */
export interface Admission {
  readonly answer: AdmissionAnswer;
  readonly planned: Promise<void>;
}

/** Extra headers of a refusal; an array becomes one header row per value. */
type RefusalHeaders = Record<string, string | string[]>;

/** The destination of an admissible call, before the charge. */
interface Callee {
  readonly number: NumberDocument;
  readonly agent: AgentDocument;
  readonly version: VersionDocument;
}

/**
 * Admits or refuses an INVITE; throws only for programming errors and database failures. `isAwaited` tells
 * whether signalling still waits for the answer: a call it has given up on must not delay the next one or
 * keep a charge and a worker's slot.
 */
export async function admitCall(
  context: Context,
  request: AdmissionRequest,
  isAwaited: () => boolean = () => true,
): Promise<Admission> {
  const addressee = await findAddressee(context, request);
  switch (addressee.is) {
    case 'nobody':
      await context.refusals.takeForCall(networkOf(request.source_address));
      return rejection(404);
    case 'source_refused':
      return refuseAndLog(context, { request, number: addressee.holder }, fault('source_refused'));
    case 'challenged': {
      const challenge = { 'Proxy-Authenticate': addressee.challenges };
      // A first request without credentials, or one with only a stale nonce, will be retried by the caller
      // and is not counted as a refusal.
      return addressee.isWrong
        ? refuseAndLog(context, { request, number: addressee.holder }, fault('digest_refused'), challenge)
        : rejection(407, challenge);
    }
    default:
      return admitTo(context, addressee.number, { request, isAwaited });
  }
}

async function admitTo(
  context: Context,
  number: NumberDocument,
  { request, isAwaited }: { readonly request: AdmissionRequest; readonly isAwaited: () => boolean },
): Promise<Admission> {
  try {
    const callee = await findCallee(context, number);
    const call = { agent: callee.agent, payer: { userId: number.user_id }, sessionId: newId() };
    const { placed, tag } = await withinLimits(context, call, () =>
      openCall(context, { request, callee, isAwaited, sessionId: call.sessionId }),
    );
    context.logger.info({ sessionId: placed.session._id, agentId: callee.agent._id }, 'call admitted');
    const planned = sendPlan(context, { request, callee, placed }).catch((error: unknown) => {
      context.logger.error({ err: error, sessionId: placed.session._id }, 'admitted call got no plan');
    });
    return { answer: { action: 'route', data: { tag } }, planned };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return refuseAndLog(
      context,
      { request, number },
      error,
      error.sipStatus === 503 ? { 'Retry-After': RETRY_AFTER } : undefined,
    );
  }
}

/** Refusals are rate-limited: callers that retry at once would take event-loop time from all other calls. */
async function refuseAndLog(
  context: Context,
  { request, number }: { request: AdmissionRequest; number: NumberDocument | null },
  reason: Fault,
  headers?: RefusalHeaders,
): Promise<Admission> {
  await context.refusals.takeForCall(number?.user_id ?? networkOf(request.source_address));
  if (!number) return rejection(reason.sipStatus, headers);
  const call = {
    agentId: number.agent_id,
    callerNumber: request.from_user,
    dialedNumber: number.phone_number,
    sipCallId: request.call_id,
  };
  logRefusal(context, { kind: 'inbound_call', teamId: number.team_id, ...call }, reason);
  return rejection(reason.sipStatus, headers);
}

/** The answer that refuses a call. */
function rejection(status: number, headers?: RefusalHeaders): Admission {
  const data = { status, reason: REASONS[status] ?? 'Refused', ...(headers ? { headers } : {}) };
  return { answer: { action: 'reject', data }, planned: Promise.resolve() };
}

/** Throws `number_unbound`, `agent_not_published`, `agent_archived`. */
async function findCallee(context: Context, number: NumberDocument): Promise<Callee> {
  const published = number.agent_id === null ? null : await loadPublished(context, number.agent_id);
  if (!published) throw fault('number_unbound');
  if (!published.version) throw fault('agent_not_published');
  if (published.agent.status === 'archived') throw fault('agent_archived');
  return { number, agent: published.agent, version: published.version };
}

interface AwaitedCall {
  readonly request: AdmissionRequest;
  readonly callee: Callee;
  readonly sessionId: string;
  readonly isAwaited: () => boolean;
}

/** Opens the call's session while signalling waits; it routes by `tag`. */
async function openCall(context: Context, of: AwaitedCall): Promise<{ placed: PlacedSession; tag: string }> {
  const placed = await openSession(context, of);
  const tag = of.isAwaited() ? placed.placement.sipTag : null;
  if (tag !== null && of.request.is_answerable !== false) return { placed, tag };
  await withdrawCall(context, placed);
  throw fault(tag === null ? 'no_capacity' : 'no_common_codec');
}

/** Drafts the session, charges it and places it on a worker. */
async function openSession(context: Context, of: AwaitedCall): Promise<PlacedSession> {
  if (!of.isAwaited()) throw fault('no_capacity');
  const { request, callee } = of;
  const { number, agent, version } = callee;
  const draft = sessionDraft(context, {
    sessionId: of.sessionId,
    agent,
    version,
    userId: number.user_id,
    channel: 'phone_inbound',
    source: 'phone',
    direction: 'inbound',
    isPreview: false,
    name: null,
    timezone: timezoneOf(request, version),
    endUserId: null,
    metadata: {},
    callerNumber: request.from_user === '' ? null : request.from_user,
    dialedNumber: number.phone_number,
    sipCallId: request.call_id,
    sipHeaders: keptHeaders(request.headers),
    recordAudio: version.config.conversation.record_audio,
    tokenHash: null,
  });
  return openPlacedSession(context, draft, { kind: 'phone' });
}

/** Withdraws a placed call that cannot be routed: releases the worker's slot and refunds the charge. */
async function withdrawCall(context: Context, { session, placement }: PlacedSession): Promise<void> {
  context.dispatch.withdraw(placement, { sessionId: session._id, epoch: session.epoch });
  await refuseSession(context, session._id);
}

function timezoneOf(request: AdmissionRequest, version: VersionDocument): string | null {
  const phoneNumber = isE164(request.from_user) ? request.from_user : '';
  return sessionTimezone({
    requested: null,
    agent: version.config.conversation.timezone,
    client: null,
    phoneNumber,
  });
}

/**
 * Calls the init webhook, then sends the plan to the worker that is ringing. If the caller has hung up
 * meanwhile, no plan is built.
 */
async function sendPlan(
  context: Context,
  of: { request: AdmissionRequest; callee: Callee; placed: PlacedSession },
): Promise<void> {
  const { request, callee, placed } = of;
  const { number, agent, version } = callee;
  const [variables, knowledge, transfer] = await Promise.all([
    initVariables(context, request, callee),
    plannedKnowledge(context, version),
    planTransfers(context, number, {
      sessionId: placed.session._id,
      config: version.config,
      callerNumber: request.from_user,
    }),
  ]);
  const session = await loadSession(context, placed.session._id);
  if (!session || !isLive(session.status)) return;
  const plan = buildPlan(context, {
    sessionId: session._id,
    agent,
    version,
    knowledge,
    channel: 'phone_inbound',
    transport: {
      type: 'sip_inbound',
      sip_call_id: request.call_id,
      from_number: request.from_user,
      to_number: number.phone_number,
      is_tenants: number.provider !== 'managed',
    },
    timezone: session.timezone,
    callerNumber: request.from_user,
    dialedNumber: number.phone_number,
    overrides: {},
    variables,
    endUserId: null,
    llmExtraBody: null,
    recordAudio: null,
    toolEvents: false,
    worldContext: true,
    isPreview: false,
    transfer,
  });
  await keepPlan(context, session, plan);
  await assignSession(context, { session, placement: placed.placement }, plan);
}

async function initVariables(
  context: Context,
  request: AdmissionRequest,
  { number, agent, version }: Callee,
) {
  const init = version.config.webhooks.conversation_init;
  if (!init) return {};
  const secret = version.secrets.conversation_init.find((key) => key.url === init.url)?.sealed ?? null;
  return askInitWebhook(
    context,
    { url: init.url, timeoutSeconds: init.timeout_seconds, secret },
    {
      event: 'call.inbound',
      call: {
        caller_number: isE164(request.from_user) ? request.from_user : '',
        dialed_number: number.phone_number,
        agent_id: agent._id,
        phone_number_id: number._id,
        provider_call_sid: number.provider === 'managed' ? (request.headers['x-twilio-callsid'] ?? '') : '',
      },
    },
  );
}

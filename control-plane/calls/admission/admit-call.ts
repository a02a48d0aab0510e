/**
 * Admission of an inbound phone call, requested by signalling before a worker is chosen. The order of checks
 * is fixed: number 404, source 403, digest 407, agent 486, limits 486 or 503, credit and capacity 503, then
 * 488 if signalling can detect it. A phone that registers here is challenged (407) first, and reaches the
 * agent whose extension it dials. An admitted call is charged and placed, and gets its plan once its init
 * webhook has finished.
 */

import { networkOf } from '#base/client-network.ts';
import { Fault, fault } from '#config/errors.ts';
import type { StreamVendor } from '#protocol/media-streams.ts';
import { type AdmissionRequest, withoutCredentials } from '#protocol/sip-admission.ts';
import { isE164 } from '#telephony/e164.ts';
import { withinLimits } from '../../accounts/limits/spend-limits.ts';
import { withinWebSessionLimits } from '../../accounts/limits/web-session-limits.ts';
import { versionOfCall } from '../../catalogue/agents/version-of-call.ts';
import { isExtension } from '../../catalogue/phones/extensions.ts';
import { type Context, newId } from '../../platform/context.ts';
import { logRefusal, measureAdmission } from '../../platform/refusals/log-refusal.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { sessionTimezone } from '../plans/session-timezone.ts';
import { sessionDraft } from '../sessions/new-session.ts';
import {
  assignSession,
  type PlacedSession,
  placeSession,
  withdrawSession,
} from '../sessions/place-session.ts';
import { findAddressee } from './addressee.ts';
import { findCalledVersion } from './called-version.ts';
import { namesPhone, phoneCallOf } from './phone-caller.ts';
import { type AdmittedCall, type InboundCall, preparePlan } from './plan-inbound-call.ts';
import { type Admission, type RefusalHeaders, refusal } from './refusal.ts';
import { isTestCall, numberOfTest, permittedSession, testedAgentOf, testSessionOf } from './test-call.ts';

/** Retry-After for callers refused for lack of capacity, in seconds. */
const RETRY_AFTER = '10';

const MINUTE_MS = 60_000;

/**
 * Admits or refuses an INVITE; throws only for programming errors and database failures. `isAwaited` returns
 * false once signalling has stopped waiting for the answer: such a call must not delay the next one, be
 * charged or occupy a worker.
 */
export function admitCall(
  context: Context,
  request: AdmissionRequest,
  isAwaited: () => boolean = () => true,
): Promise<Admission> {
  return measureAdmission(
    context,
    'inbound_call',
    () => answerTo(context, request, isAwaited),
    ({ answer }) => answer.action === 'route',
  );
}

async function answerTo(
  context: Context,
  request: AdmissionRequest,
  isAwaited: () => boolean,
): Promise<Admission> {
  const tested = testedAgentOf(context, request);
  // The proof stands for the number and its checks.
  if (tested) return admitTo(context, numberOfTest(context, tested), { request, isAwaited, tested });
  if (namesPhone(request)) return admitPhone(context, request, isAwaited);
  const addressee = await findAddressee(context, request);
  switch (addressee.is) {
    case 'unknown_number':
      await context.refusals.throttleCall(networkOf(request.source_address));
      // Perhaps from a phone, which names itself only in its answer to the challenge.
      return isExtension(request.to_user) ? admitPhone(context, request, isAwaited) : refusal(404);
    case 'no_number':
      return refuse(context, { request, number: null }, fault('number_unbound'));
    case 'source_refused':
      return refuse(context, { request, number: addressee.holder }, sourceRefused(request, addressee.holder));
    case 'challenged': {
      const challenge = { 'Proxy-Authenticate': addressee.challenges };
      // A first request without credentials, or one with only a stale nonce, will be retried by the caller
      // and is not counted as a refusal.
      return addressee.hasWrongCredentials
        ? refuse(context, { request, number: addressee.holder }, fault('digest_refused'), challenge)
        : refusal(407, challenge);
    }
    default:
      return admitTo(context, addressee.number, { request, isAwaited, tested });
  }
}

/** A call of a phone that registers here. */
async function admitPhone(
  context: Context,
  request: AdmissionRequest,
  isAwaited: () => boolean,
): Promise<Admission> {
  const call = await phoneCallOf(context, request);
  switch (call.is) {
    case 'challenged':
      return refusal(407, { 'Proxy-Authenticate': call.challenges });
    case 'too_many':
      return refusal(503, { 'Retry-After': String(call.seconds) });
    case 'refused':
      return refusal(call.status, undefined, call.reason);
    default:
      return admitTo(context, call.number, { request: call.request, isAwaited, tested: null });
  }
}

/**
 * Admits or refuses a call that a vendor's media stream brings to a number: null if it is admitted, else the
 * reason, whose `sipStatus` says how the caller hears of it. Throws only for programming errors and database
 * failures.
 */
export function admitStreamedCall(
  context: Context,
  number: NumberDocument,
  call: Pick<InboundCall, 'request' | 'sessionId'> & { readonly vendor: StreamVendor },
): Promise<Fault | null> {
  return measureAdmission(
    context,
    'inbound_call',
    async () => {
      // A vendor whose question was cut off asks again, and then gets this session.
      const arrival = { ...call, tested: null, isAwaited: () => true };
      const placed = await placeFor(context, number, arrival);
      if (!('refusal' in placed)) return null;
      await noteRefusal(context, { request: call.request, number }, placed.refusal);
      return placed.refusal;
    },
    (refused) => refused === null,
  );
}

async function admitTo(
  context: Context,
  number: NumberDocument,
  arrival: Pick<InboundCall, 'request' | 'isAwaited' | 'tested'>,
): Promise<Admission> {
  const placed = await placeFor(context, number, { ...arrival, vendor: null, sessionId: null });
  if (!('refusal' in placed))
    return { answer: { action: 'route', data: { tag: placed.tag } }, planned: placed.planned };
  const headers = placed.refusal.sipStatus === 503 ? { 'Retry-After': RETRY_AFTER } : undefined;
  return refuse(context, { request: arrival.request, number }, placed.refusal, headers);
}

/** A call that a worker has, and that gets its plan; or why it has none. */
type PlacedCall = { readonly tag: string; readonly planned: Promise<void> } | { readonly refusal: Fault };

type Arrival = Pick<InboundCall, 'request' | 'isAwaited' | 'tested' | 'vendor'> & {
  /** Of the session, if the call has one already. */
  readonly sessionId: string | null;
};

async function placeFor(context: Context, number: NumberDocument, arrival: Arrival): Promise<PlacedCall> {
  const { request, tested } = arrival;
  const isTest = isTestCall(request);
  try {
    const published = await findCalledVersion(context, number, tested);
    const sessionId = arrival.sessionId ?? (await testSessionOf(context, request, number)) ?? newId();
    // A test call is one of the version it asks for.
    const live = isTest ? { ...published, share: null } : published;
    const called = await versionOfCall(context, live, { caller: request.from_user, sessionId });
    const callee = { number, agent: published.agent, ...called };
    const call = { ...arrival, callee, sessionId, isTest };
    const { placed, tag } = await placeWithinLimits(context, call);
    context.logger.info({ sessionId, agentId: callee.agent._id }, 'call admitted');
    const planned = sendPlan(context, { ...call, placed }).catch((error: unknown) => {
      context.logger.error({ err: error, sessionId }, 'failed to send the plan of an admitted call');
    });
    return { tag, planned };
  } catch (error) {
    if (error instanceof Fault) return { refusal: error };
    throw error;
  }
}

/** The reason for the team; the caller gets 403 only. */
function sourceRefused({ source_address: address }: AdmissionRequest, number: NumberDocument | null): Fault {
  const remedy = number?.sip
    ? 'add it to inbound_allowed_addresses of the number'
    : 'ask the operator to add it to SIP_TRUSTED';
  return fault('source_refused', { address, remedy });
}

/** Tells the operator once per team, source network and minute: a scanner tries hundreds of times. */
async function warnOfUntrusted(
  { coordination, logger }: Context,
  address: string,
  { team_id: teamId, agent_id: agentId }: NumberDocument,
): Promise<void> {
  if (await coordination.claim(`untrusted-source:${teamId}:${networkOf(address)}`, MINUTE_MS))
    logger.warn({ address, agentId }, 'a call was refused because SIP_TRUSTED does not contain its source');
}

interface RefusedCall {
  readonly request: AdmissionRequest;
  readonly number: NumberDocument | null;
}

async function refuse(
  context: Context,
  call: RefusedCall,
  reason: Fault,
  headers?: RefusalHeaders,
): Promise<Admission> {
  await noteRefusal(context, call, reason);
  return refusal(reason.sipStatus, headers);
}

/** Refusals are rate-limited: callers that retry at once would take event-loop time from all other calls. */
async function noteRefusal(context: Context, { request, number }: RefusedCall, reason: Fault): Promise<void> {
  await context.refusals.throttleCall(number?.user_id ?? networkOf(request.source_address));
  // The doctor shows why its own call was refused.
  if (number && permittedSession(context, request, number) === null)
    tellOfRefusal(context, { request, number }, reason);
}

/** Tells the team, and the operator if a setting refuses the source. */
function tellOfRefusal(
  context: Context,
  { request, number }: { request: AdmissionRequest; number: NumberDocument },
  reason: Fault,
): void {
  if (reason.code === 'source_refused' && !number.sip)
    void warnOfUntrusted(context, request.source_address, number);
  const call = {
    agentId: number.agent_id,
    callerNumber: request.from_user,
    dialedNumber: number.phone_number,
    sipCallId: request.call_id,
  };
  logRefusal(context, { kind: 'inbound_call', teamId: number.team_id, ...call }, reason);
}

/** Voice tests count among the previews of their account. */
function placeWithinLimits(context: Context, call: InboundCall): ReturnType<typeof placeRoutableCall> {
  const { callee, sessionId, isTest, tested } = call;
  const userId = callee.number.user_id;
  const place = () => placeRoutableCall(context, call);
  if (tested) return withinWebSessionLimits(context, { sessionId, userId, kind: 'preview' }, place);
  return isTest
    ? place()
    : withinLimits(context, { agent: callee.agent, payer: { userId }, sessionId }, place);
}

/**
 * Places the call while signalling waits; signalling routes it by `tag`, which is empty if there is nothing
 * to route.
 */
async function placeRoutableCall(
  context: Context,
  call: InboundCall,
): Promise<{ placed: PlacedSession; tag: string }> {
  const placed = await placeInboundCall(context, call);
  const { sipTag } = placed.placement;
  const tag = call.isAwaited() ? (call.vendor ? '' : sipTag) : null;
  if (tag !== null && call.request.is_answerable !== false) return { placed, tag };
  await withdrawSession(context, placed);
  throw fault(tag === null ? 'no_capacity' : 'no_common_codec');
}

/** Charges the session and places it on a worker. */
async function placeInboundCall(context: Context, call: InboundCall): Promise<PlacedSession> {
  if (!call.isAwaited()) throw fault('no_capacity');
  const { request, callee } = call;
  const { number, agent, version, share } = callee;
  const draft = sessionDraft(context, {
    sessionId: call.sessionId,
    agent,
    version,
    share,
    userId: number.user_id,
    channel: 'phone_inbound',
    source: 'phone',
    direction: 'inbound',
    isPreview: call.isTest,
    name: null,
    timezone: timezoneOf(request, version),
    endUserId: null,
    metadata: {},
    callerNumber: request.from_user === '' ? null : request.from_user,
    dialedNumber: number.phone_number || null,
    sipCallId: call.vendor ? null : request.call_id,
    sipHeaders: withoutCredentials(request.headers),
    recordAudio: !call.isTest && version.config.conversation.record_audio,
    tokenHash: null,
  });
  if (call.vendor) return placeSession(context, draft, { kind: 'phone', isMediaStream: true });
  const route = { workerTags: request.worker_tags ?? null, server: request.server ?? null };
  return placeSession(context, draft, { kind: 'phone', route });
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

/** Sends the plan to the worker, unless the caller has hung up in the meantime. */
async function sendPlan(context: Context, call: AdmittedCall): Promise<void> {
  const planned = await preparePlan(context, call).catch(async (error: unknown) => {
    // The caller would hear ringing until the join deadline.
    await withdrawSession(context, call.placed);
    throw error;
  });
  if (!planned) return;
  await assignSession(context, { session: planned.session, placement: call.placed.placement }, planned.plan);
}

/**
 * Checks whether an outbound call is allowed, in a fixed order: first the agent and its publication, then the
 * number, then the destination. Each refusal has a machine-readable reason.
 */
import { fault } from '#config/errors.ts';
import { countryOf, isE164, isPremium, withoutTrunkZero } from '#telephony/e164.ts';
import type { PublishedAgent } from '../../catalogue/agents/publish.ts';
import { liveVersions, versionOfCall } from '../../catalogue/agents/version-of-call.ts';
import { isHosted } from '../../catalogue/numbers/number-store.ts';
import type { Context } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import type { SessionShare } from '../../platform/store/models/session-share.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { overrideFields } from '../plans/build-plan.ts';
import { hasOwnTrunk } from './outbound-transport.ts';
import type { PhoneCallRequest } from './phone-call-request.ts';

/** A call that has passed the checks but is not yet paid for. */
export interface AllowedCall {
  readonly agent: AgentDocument;
  readonly version: VersionDocument;
  /** Null if no share has decided the version. */
  readonly share: SessionShare | null;
  readonly number: NumberDocument;
  /** The number to dial, E.164. */
  readonly toNumber: string;
}

/** The account that places the call: the holder of the API key, or the owner of the batch. */
export type OutboundAccount = Pick<Caller, 'userId' | 'teamId' | 'outboundEnabled' | 'spendLimits'>;

/** Checks a request; throws the `Fault` of the first failed check. */
export async function checkOutbound(
  context: Context,
  account: OutboundAccount,
  request: PhoneCallRequest,
  sessionId: string,
): Promise<AllowedCall> {
  const { agent, ...live } = await findCallingAgent(context, account, request);
  const number = await findCallingNumber(context, account, request);
  const toNumber = await checkDestination(context, number, request.to_number);
  const called = await versionOfCall(context, live, { caller: toNumber, sessionId });
  return { agent, ...called, number, toNumber };
}

/** Finds the agent that places the call, its published version and its share. */
export async function findCallingAgent(
  context: Context,
  account: OutboundAccount,
  request: Pick<PhoneCallRequest, 'agent_id' | 'overrides'>,
): Promise<PublishedAgent & { readonly version: VersionDocument }> {
  const agent = await context.models.agents
    .findOne({ _id: request.agent_id, team_id: account.teamId })
    .lean<AgentDocument>();
  if (!agent) throw fault('agent_not_found');
  const refused = overrideFields(request.overrides ?? {}).find(
    (field) => !agent.overrides_allowed.includes(field),
  );
  if (refused) throw fault('override_not_allowed', { field: refused });
  if (!account.outboundEnabled) throw fault('outbound_disabled');
  const { version, share } = await liveVersions(context, agent._id);
  if (!version) throw fault('call_agent_not_published');
  if (agent.status === 'archived') throw fault('agent_archived');
  return { agent, version, share };
}

/** Finds the number to call from. */
export async function findCallingNumber(
  context: Context,
  account: OutboundAccount,
  request: Pick<PhoneCallRequest, 'phone_number_id' | 'sip_headers'>,
): Promise<NumberDocument> {
  const number = await context.models.numbers
    .findOne({ _id: request.phone_number_id, team_id: account.teamId, status: { $ne: 'released' } })
    .lean<NumberDocument>();
  if (!number) throw fault('number_not_found');
  if (number.status !== 'active') throw fault('number_inactive');
  switch (number.provider) {
    case 'managed':
      if (Object.keys(request.sip_headers ?? {}).length > 0) throw fault('sip_headers_unsupported');
      return number;
    case 'sip':
      if (!(await hasOwnTrunk(context, number))) throw fault('number_termination_missing');
      return number;
    default:
      // A number stored by another release, with a provider that this release does not support.
      number.provider satisfies never;
      throw fault('number_provider_unsupported');
  }
}

/** Throws `self_call_blocked` for a number hosted on this platform: one agent would call another. */
export async function refuseHostedNumber(
  context: Pick<Context, 'models'>,
  { team_id }: Pick<NumberDocument, 'team_id'>,
  phoneNumber: string,
): Promise<void> {
  if (await isHosted(context, team_id, phoneNumber)) throw fault('self_call_blocked');
}

/**
 * Returns the number to dial for a call or a transfer. Country and premium-rate rules apply to managed
 * numbers only, because those calls are billed to the platform; calls from imported numbers are billed to
 * their owners.
 */
export async function checkDestination(
  context: Pick<Context, 'settings' | 'models'>,
  number: NumberDocument,
  wanted: string,
): Promise<string> {
  const toNumber = dialledNumber(number, wanted);
  await refuseHostedNumber(context, number, toNumber);
  refuseExpensiveDestination(context, number, toNumber);
  return toNumber;
}

/** Normalises a destination for dialling from `number`. Throws `destination_invalid`. */
export function dialledNumber(number: Pick<NumberDocument, 'provider'>, wanted: string): string {
  if (!isE164(wanted)) throw fault('destination_invalid');
  return number.provider === 'managed' ? withoutTrunkZero(wanted) : wanted;
}

/**
 * Throws `destination_not_allowed` or `premium_destination_blocked` for a managed number that would dial a
 * destination the platform does not pay for.
 */
export function refuseExpensiveDestination(
  { settings }: Pick<Context, 'settings'>,
  number: Pick<NumberDocument, 'provider'>,
  toNumber: string,
): void {
  if (number.provider !== 'managed') return;
  if (!settings.OUTBOUND_COUNTRIES.includes(countryOf(toNumber) ?? ''))
    throw fault('destination_not_allowed');
  if (isPremium(toNumber)) throw fault('premium_destination_blocked');
}

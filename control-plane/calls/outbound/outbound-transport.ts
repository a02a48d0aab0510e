/**
 * Target and headers of an outbound call: managed numbers use the platform's trunk, imported ones their
 * owner's, or their registration at a PBX if they have no trunk.
 */

import type { CallPlan, PlannedLine } from '#protocol/call-plan.ts';
import { hostOf } from '#telephony/registration/registration-request.ts';
import { tenantGuard } from '../../catalogue/numbers/tenant-guard.ts';
import { findRegistrationOf } from '../../catalogue/registrations/registration-store.ts';
import type { Context } from '../../platform/context.ts';
import type { NumberDocument, NumberSip } from '../../platform/store/models/number-model.ts';
import type { SipRegistrationDocument } from '../../platform/store/models/sip-registration-model.ts';

/** The plan transport of an outbound call. */
export type OutboundTransport = Extract<CallPlan['transport'], { type: 'sip_outbound' }>;

/** Lets a customer find our calls in the logs of its trunk. */
export const SESSION_HEADER = 'X-Service-Session-Id';

/**
 * Builds the transport of a call; `to_uri` is empty for a managed number when no platform trunk is
 * configured.
 */
export async function outboundTransport(
  context: Pick<Context, 'settings' | 'secretBox' | 'models'>,
  call: {
    readonly sessionId: string;
    readonly number: NumberDocument;
    readonly toNumber: string;
    readonly sipHeaders: Readonly<Record<string, string>>;
    readonly ringSeconds: number;
    readonly extension: string | null;
  },
): Promise<OutboundTransport> {
  const { number, toNumber } = call;
  const { address, parameters, username, password, line } = await trunkOf(context, number);
  return {
    type: 'sip_outbound',
    to_uri: address === '' ? '' : `sip:${toNumber}@${address}${parameters}`,
    guard: guardOf(context, number),
    from_number: number.phone_number,
    to_number: toNumber,
    headers: {
      ...mergeHeaders(number.sip?.termination_headers ?? {}, call.sipHeaders),
      [SESSION_HEADER]: call.sessionId,
    },
    username,
    password,
    ...(line && { line }),
    ...(call.extension !== null && { extension: call.extension }),
    ring_seconds: call.ringSeconds,
  };
}

/** The address restrictions for a host named by a number's owner; the platform's own trunk has none. */
export function guardOf(
  context: Pick<Context, 'settings'>,
  { provider }: Pick<NumberDocument, 'provider'>,
): OutboundTransport['guard'] {
  return provider === 'managed' ? null : tenantGuard(context);
}

/** The trunk for calls from this number. */
export async function trunkOf(
  context: Pick<Context, 'settings' | 'secretBox' | 'models'>,
  number: NumberDocument,
): Promise<Trunk> {
  if (!number.sip) return platformTrunk(context);
  const registration = number.sip.termination_uri ? null : await findRegistrationOf(context, number._id);
  return registration
    ? registeredTrunk(context, registration)
    : ownTrunk(context, number.sip, number.phone_number);
}

/** Whether calls can go out from an imported number. */
export async function hasOwnTrunk(
  context: Pick<Context, 'models'>,
  { _id, sip }: Pick<NumberDocument, '_id' | 'sip'>,
): Promise<boolean> {
  return Boolean(sip?.termination_uri) || (await findRegistrationOf(context, _id)) !== null;
}

/** A trunk's address and credentials. */
export interface Trunk {
  /** `host[:port]`, empty when there is no trunk. */
  readonly address: string;
  /** URI parameters, including the leading semicolon. */
  readonly parameters: string;
  readonly username: string | null;
  readonly password: string | null;
  /** Of a registration, or of a trunk that wants another host in From than our address. */
  readonly line?: PlannedLine;
}

function platformTrunk({ settings }: Pick<Context, 'settings'>): Trunk {
  const { SIP_TRUNK_URI = '', SIP_TRUNK_USERNAME = null, SIP_TRUNK_PASSWORD = null } = settings;
  const [address = '', ...parameters] = SIP_TRUNK_URI.split(/(?=;)/);
  return {
    address,
    parameters: parameters.join(''),
    username: SIP_TRUNK_USERNAME,
    password: SIP_TRUNK_PASSWORD,
  };
}

function ownTrunk({ secretBox }: Pick<Context, 'secretBox'>, sip: NumberSip, phoneNumber: string): Trunk {
  const transport = sip.termination_transport ?? 'auto';
  const { termination_from_domain: domain } = sip;
  return {
    address: sip.termination_uri ?? '',
    parameters: transport === 'auto' ? '' : `;transport=${transport}`,
    username: sip.termination_auth_username,
    password: sip.termination_auth_password === null ? null : secretBox.open(sip.termination_auth_password),
    ...(domain === undefined ? {} : { line: lineFrom(phoneNumber, domain) }),
  };
}

/** Calls come from the number at this domain; nothing else about them differs. */
function lineFrom(phoneNumber: string, domain: string): PlannedLine {
  const usual = { contact_place: null, next_hop: null, routes: [], server: null };
  return { from_user: phoneNumber, from_host: domain, ...usual };
}

/** Calls go out as the registered account, and by the way on which the PBX knows it. */
function registeredTrunk(
  { secretBox }: Pick<Context, 'secretBox'>,
  registration: SipRegistrationDocument,
): Trunk {
  const { registrar, username, auth_username, password, outbound_proxy, transport, state } = registration;
  const parameters = transport === 'auto' ? '' : `;transport=${transport}`;
  return {
    address: registrar,
    parameters,
    username: auth_username ?? username,
    password: secretBox.open(password),
    line: {
      from_user: username,
      from_host: hostOf(registrar),
      contact_place: state.contactPlace,
      next_hop: outbound_proxy === null ? null : `sip:${outbound_proxy}${parameters}`,
      routes: [...state.serviceRoute],
      server: state.server,
    },
  };
}

/** Merges headers; those of the call override those of the number, and header names are case-insensitive. */
function mergeHeaders(
  numberHeaders: Readonly<Record<string, string>>,
  callHeaders: Readonly<Record<string, string>>,
): Record<string, string> {
  const own = new Set(Object.keys(callHeaders).map((name) => name.toLowerCase()));
  return {
    ...Object.fromEntries(Object.entries(numberHeaders).filter(([name]) => !own.has(name.toLowerCase()))),
    ...callHeaders,
  };
}

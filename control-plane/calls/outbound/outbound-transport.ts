/**
 * Target and headers of an outbound call: managed numbers use the platform's trunk, imported ones their
 * owner's.
 */

import type { CallPlan } from '#protocol/call-plan.ts';
import { tenantGuard } from '../../catalogue/numbers/tenant-guard.ts';
import type { Context } from '../../platform/context.ts';
import type { NumberDocument, NumberSip } from '../../platform/store/models/number-model.ts';

/** The plan transport of an outbound call. */
export type OutboundTransport = Extract<CallPlan['transport'], { type: 'sip_outbound' }>;

/** Lets a customer find our calls in the logs of its trunk. */
export const SESSION_HEADER = 'X-Service-Session-Id';

/**
 * Builds the transport of a call; `to_uri` is empty for a managed number when no platform trunk is
 * configured.
 */
export function outboundTransport(
  context: Pick<Context, 'settings' | 'secretBox'>,
  call: {
    readonly sessionId: string;
    readonly number: NumberDocument;
    readonly toNumber: string;
    readonly sipHeaders: Readonly<Record<string, string>>;
    readonly ringSeconds: number;
  },
): OutboundTransport {
  const { number, toNumber } = call;
  const { address, parameters, username, password } = trunkOf(context, number);
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
export function trunkOf(context: Pick<Context, 'settings' | 'secretBox'>, number: NumberDocument): Trunk {
  return number.sip ? ownTrunk(context, number.sip) : platformTrunk(context);
}

/** A trunk's address and credentials. */
export interface Trunk {
  /** `host[:port]`, empty when there is no trunk. */
  readonly address: string;
  /** URI parameters, including the leading semicolon. */
  readonly parameters: string;
  readonly username: string | null;
  readonly password: string | null;
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

function ownTrunk({ secretBox }: Pick<Context, 'secretBox'>, sip: NumberSip): Trunk {
  const transport = sip.termination_transport ?? 'auto';
  return {
    address: sip.termination_uri ?? '',
    parameters: transport === 'auto' ? '' : `;transport=${transport}`,
    username: sip.termination_auth_username,
    password: sip.termination_auth_password === null ? null : secretBox.open(sip.termination_auth_password),
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

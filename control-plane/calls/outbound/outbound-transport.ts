/**
 * Where an outbound call is dialled and what its INVITE carries: the platform's trunk for managed numbers,
 * the owner's for imported ones.
 */

import type { CallPlan } from '#protocol/call-plan.ts';
import { tenantGuard } from '../../catalogue/numbers/tenant-guard.ts';
import type { Context } from '../../platform/context.ts';
import type { NumberDocument, NumberSip } from '../../platform/store/models/number-model.ts';

/** A transport of a plan that dials. */
export type OutboundTransport = Extract<CallPlan['transport'], { type: 'sip_outbound' }>;

/** Lets a customer find a call of ours in the logs of a trunk. */
export const SESSION_HEADER = 'X-Service-Session-Id';

/** The transport of a call; `to_uri` is empty when a managed number has no trunk to go out by. */
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
      ...merged(number.sip?.termination_headers ?? {}, call.sipHeaders),
      [SESSION_HEADER]: call.sessionId,
    },
    username,
    password,
    ring_seconds: call.ringSeconds,
  };
}

/** What a host its owner has named is held to; the platform's own trunk is the operator's. */
export function guardOf(
  context: Pick<Context, 'settings'>,
  { provider }: Pick<NumberDocument, 'provider'>,
): OutboundTransport['guard'] {
  return provider === 'managed' ? null : tenantGuard(context);
}

/** The trunk calls of this number leave by. */
export function trunkOf(context: Pick<Context, 'settings' | 'secretBox'>, number: NumberDocument): Trunk {
  return number.sip ? ownTrunk(context, number.sip) : platformTrunk(context);
}

/** Where calls leave, and as whom. */
export interface Trunk {
  /** `host[:port]`, empty when there is none. */
  readonly address: string;
  /** URI parameters, with their semicolon. */
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

/** A call's own headers over its number's; header names know no case. */
function merged(
  ofNumber: Readonly<Record<string, string>>,
  ofCall: Readonly<Record<string, string>>,
): Record<string, string> {
  const own = new Set(Object.keys(ofCall).map((name) => name.toLowerCase()));
  return {
    ...Object.fromEntries(Object.entries(ofNumber).filter(([name]) => !own.has(name.toLowerCase()))),
    ...ofCall,
  };
}

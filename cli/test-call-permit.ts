/** The product's answer to the doctor: the address where it accepts calls, and one permitted test call. */
import { lookup } from 'node:dns/promises';
import { systemClock } from '#base/clock.ts';
import { createOwnAddresses } from '#base/own-addresses.ts';
import { isAnyHost } from '#base/public-address.ts';
import type { Settings } from '#config/env.ts';
import { type Api, CommandError } from './api.ts';

/** Where a product accepts calls: the address it listens on. */
export interface SipAddress {
  readonly host: string;
  readonly port: number;
}

/** A call that is free and appears in no list. */
export interface PermittedCall {
  readonly phone_number: string;
  readonly agent_id: string;
  readonly session_id: string;
  /** The INVITE must contain it. */
  readonly header: { readonly name: string; readonly value: string };
}

/** The answer of `GET /admin/test-call`. */
export interface TestCallPermit {
  /** Null with an external SIP server. */
  readonly sip: SipAddress | null;
  /** Null if the demo agent answers no number. */
  readonly call: PermittedCall | null;
}

/**
 * Asks for the SIP address and for one call to `number`, by default the demo agent's. Null if the key is not
 * the operator's. Throws `CommandError` if no agent answers the number.
 */
export async function permitTestCall(api: Pick<Api, 'get'>, number?: string): Promise<TestCallPermit | null> {
  const { is_operator: isOperator } = await api.get('/v1/account');
  if (!isOperator) return null;
  const query = number === undefined ? '' : `?${new URLSearchParams({ phone_number: number })}`;
  return api.get(`/admin/test-call${query}`);
}

/**
 * Where calls arrive: the given `host:port`, or the address the product reports, or that of the settings.
 * Names are resolved. Throws `CommandError` if the given one is malformed.
 */
export async function findSip(
  settings: Pick<Settings, 'SIP_HOST' | 'SIP_PORT'>,
  api: Pick<Api, 'get' | 'url'> | null,
  given: string | undefined,
): Promise<SipAddress> {
  if (given !== undefined) return sipAddress(given);
  const { host, port } = (api && (await reportedSip(api))) ?? {
    host: settings.SIP_HOST,
    port: settings.SIP_PORT,
  };
  return { host: await addressOf(host), port };
}

/** The address in a `host:port`, resolved. Throws `CommandError` if it is malformed. */
export async function sipAddress(given: string): Promise<SipAddress> {
  const parts = /^(.+):(\d{1,5})$/.exec(given);
  if (!parts) throw new CommandError('--sip must be host:port');
  return { host: await addressOf(parts[1] ?? ''), port: Number(parts[2]) };
}

/** Null if the product does not say: an older release, another key, a refusal. */
async function reportedSip(api: Pick<Api, 'get' | 'url'>): Promise<SipAddress | null> {
  const permit = await permitTestCall(api).catch((error: unknown) => {
    if (error instanceof CommandError) return null;
    throw error;
  });
  return permit?.sip ? seenFrom(api, permit.sip) : null;
}

/** The address that reaches a product listening at `sip`: if on any address, at the host of its API. */
export async function seenFrom(api: Pick<Api, 'url'>, sip: SipAddress): Promise<SipAddress> {
  if (!isAnyHost(sip.host)) return sip;
  const host = await addressOf(new URL(api.url).hostname);
  return createOwnAddresses(systemClock)(host) ? sip : { ...sip, host };
}

/** The IP address of a host, IPv4 if it has one; the host itself if it has none. */
async function addressOf(host: string): Promise<string> {
  const name = host.replace(/^\[|\]$/g, '');
  const found = await lookup(name, { order: 'ipv4first' }).catch(() => null);
  return found?.address ?? name;
}

/** An address of this machine that reaches a listener on `host`. */
export function reachableHost(host: string): string {
  return isAnyHost(host) ? '127.0.0.1' : host;
}

/** Places a permitted test call, as the doctor and voice tests do. */
import { networkInterfaces } from 'node:os';
import { hostPort, isAnyHost, isLoopback } from '#base/public-address.ts';
import type { CallRecord, CallRequest } from '#caller/caller.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import type { Scene } from '#caller/scene.ts';
import { reachableHost, type SipAddress } from './test-call-permit.ts';

/** Where to call, and from where. */
export interface TestCallPath {
  readonly sip: SipAddress;
  /** Address of this machine. */
  readonly from: string;
  /** Own UDP ports, outside the default RTP range and below the ephemeral ports. */
  readonly ports: { readonly first: number; readonly last: number };
}

/** A permitted call; the INVITE must contain the header. */
export interface CalledNumber {
  /** User part of the called address. */
  readonly called: string;
  readonly header: { readonly name: string; readonly value: string };
}

/** Calls as a stock softphone does: its offer names the card's address, its audio comes from any. */
export function placeTestCall(
  { sip, from, ports }: TestCallPath,
  { called, header }: CalledNumber,
  scene: Scene,
  { signal, mind }: { readonly signal?: AbortSignal | undefined } & Pick<CallRequest, 'mind'> = {},
): Promise<CallRecord> {
  const caller = new PhoneCaller({
    ports,
    localAddress: from,
    isMediaUnbound: true,
    headers: [[header.name, header.value]],
  });
  const target = `sip:${called}@${hostPort(reachableHost(sip.host), sip.port)}`;
  return caller.call({ target, scene, mind, ...(signal ? { signal } : {}) });
}

/** The loopback, and the network card where the product can be reached from it. */
export function callerAddresses(sipHost: string): readonly string[] {
  const cards = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address);
  if (sipHost === '::1' || cards.includes(sipHost)) return [sipHost];
  return [...(isAnyHost(sipHost) || isLoopback(sipHost) ? ['127.0.0.1'] : []), ...cards.slice(0, 1)];
}

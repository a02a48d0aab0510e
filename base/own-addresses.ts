/** The addresses of this machine's own network interfaces, the loopback included. */
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import type { Clock } from './clock.ts';
import { isLoopback } from './public-address.ts';

/** Interfaces come and go (DHCP, VPN); not every call needs to list them anew. */
const REFRESH_MS = 5_000;

/** True for an address of this machine, in any spelling. */
export type IsOwnAddress = (address: string) => boolean;

/** Answers from a list that is at most 5 s old; `list` returns the interfaces' addresses. */
export function createOwnAddresses(
  clock: Pick<Clock, 'now'>,
  list: () => readonly string[] = interfaceAddresses,
): IsOwnAddress {
  let own: ReadonlySet<string> = new Set();
  let staleMs = Number.NEGATIVE_INFINITY;
  return (address) => {
    if (isLoopback(address)) return true;
    if (!ipaddr.isValid(address)) return false;
    if (clock.now() >= staleMs) {
      own = new Set(list().map((each) => ipaddr.process(each).toString()));
      staleMs = clock.now() + REFRESH_MS;
    }
    return own.has(ipaddr.process(address).toString());
  };
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).map(({ address }) => address),
  );
}

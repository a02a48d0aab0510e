/**
 * Chooses the address of this machine that faces a peer, for Contact and SDP, if the program listens on every
 * address.
 */
import { networkInterfaces } from 'node:os';
import { isAnyHost } from '#base/public-address.ts';

/**
 * The configured public address, the bound one, or the interface in the peer's network; otherwise the first
 * external one.
 */
export function localAddressFor(
  peerAddress: string,
  options: { readonly boundHost: string; readonly publicIp: string | undefined },
): string {
  if (options.publicIp !== undefined) return options.publicIp;
  if (!isAnyHost(options.boundHost)) return options.boundHost;
  const peer = ipv4ToNumber(peerAddress);
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter((entry) => entry.family === 'IPv4');
  const facing = addresses.find(
    (entry) => peer !== null && inSameNetwork(peer, entry.address, entry.netmask),
  );
  return (facing ?? addresses.find((entry) => !entry.internal))?.address ?? '127.0.0.1';
}

function inSameNetwork(peer: number, address: string, netmask: string): boolean {
  const own = ipv4ToNumber(address);
  const mask = ipv4ToNumber(netmask);
  return own !== null && mask !== null && (own & mask) === (peer & mask);
}

function ipv4ToNumber(address: string): number | null {
  const parts = address.split('.').map(Number);
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255))
    return null;
  return parts.reduce((number, part) => (number << 8) | part, 0);
}

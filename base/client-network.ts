/** Identifies clients by network, because one subscriber may have many addresses. */
import ipaddr from 'ipaddr.js';

/**
 * The network of one subscriber: an IPv4 address, or an IPv6 /64. Text that is not an address is returned
 * unchanged.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':');
}

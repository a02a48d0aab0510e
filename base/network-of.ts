/** Which addresses count as one client. */
import ipaddr from 'ipaddr.js';

/**
 * What one subscriber has: an IPv4 address, or an IPv6 /64. A text that is no address is returned as it is.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':');
}

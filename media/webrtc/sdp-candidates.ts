/** Puts the machine's public address into the candidates of an SDP description (RFC 8839 §5.1). */
import ipaddr from 'ipaddr.js';

/** Indices of the parts of `candidate:foundation component transport priority address port typ type …`. */
const ADDRESS = 4;
const TYPE = 7;

/**
 * Replaces the address of every host candidate of the same family as `publicIp`, and removes candidates that
 * become equal.
 */
export function announceAddress(sdp: string, publicIp: string): string {
  const family = ipaddr.parse(publicIp).kind();
  const seen = new Set<string>();
  const lines = sdp
    .split('\r\n')
    .map((line) => (line.startsWith('a=candidate:') ? rewrite(line, publicIp, family) : line));
  return lines.filter((line) => !line.startsWith('a=candidate:') || isFirst(line, seen)).join('\r\n');
}

function rewrite(line: string, publicIp: string, family: string): string {
  const parts = line.split(' ');
  const address = parts[ADDRESS] ?? '';
  if (parts[TYPE] !== 'host' || !ipaddr.isValid(address) || ipaddr.parse(address).kind() !== family)
    return line;
  parts[ADDRESS] = publicIp;
  return parts.join(' ');
}

/** Foundation and priority distinguish candidates whose address no longer does. */
function isFirst(line: string, seen: Set<string>): boolean {
  const [, component, transport, , address, port] = line.split(' ');
  const key = [component, transport, address, port].join(' ');
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}

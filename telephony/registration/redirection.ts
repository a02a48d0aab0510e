/** Reads the target of a redirected REGISTER (RFC 3261 §8.1.3.4, §10.2). Pure. */
import { hostPort } from '#base/public-address.ts';
import { readSipUri } from '../sip-address.ts';
import type { RegistrarPlace, SipTransport } from './registrar-hops.ts';
import { requestUriOf } from './request-uri.ts';

/** A registrar that another one has named. */
export interface Redirection extends RegistrarPlace {
  /** Request-URI of the next request. */
  readonly uri: string;
}

const TRANSPORTS: readonly SipTransport[] = ['udp', 'tcp', 'tls'];

/**
 * Reads a Contact URI of a redirection; null if it cannot be registered at. Its user part is not repeated,
 * since a REGISTER names a domain.
 */
export function readRedirection(uri: string): Redirection | null {
  const address = readSipUri(uri);
  if (!address) return null;
  const isSecure = /^sips:/i.test(uri);
  const [, ...kept] = requestUriOf(uri.slice(uri.lastIndexOf('@') + 1)).split(';');
  const isNamed = isSecure || kept.some((parameter) => /^transport=/i.test(parameter));
  const transport = isNamed ? TRANSPORTS.find((each) => each === address.transport) : 'auto';
  if (transport === undefined) return null;
  const host = hostPort(address.host, address.port);
  return { uri: [`${isSecure ? 'sips' : 'sip'}:${host}`, ...kept].join(';'), host, transport };
}

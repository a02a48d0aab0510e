/**
 * Keys of protected media in a session description (RFC 4568): parses the supported `a=crypto` lines and
 * writes ours.
 */

import type { SrtpSuite } from '#media/leg/rtp-remote.ts';
import { SRTP_KEY_BYTES, SRTP_SUITES } from '#media/rtp/srtp.ts';

/** One `a=crypto` line of the peer. */
export interface OfferedCrypto {
  readonly tag: number;
  readonly suite: SrtpSuite;
  /** Master key and salt, base64. */
  readonly key: string;
  /** Length of the key identifier in each packet, bytes; 0 if there is none. */
  readonly mkiBytes: number;
}

const MAX_LINES = 32;
/** Longest key identifier (RFC 4568 §6.1). */
const MAX_MKI_BYTES = 128;

/** The peer's first acceptable choice; null if there is none. */
export function chooseCrypto(lines: readonly string[]): OfferedCrypto | null {
  const offered = lines.filter((line) => line.startsWith('a=crypto:')).slice(0, MAX_LINES);
  for (const line of offered) {
    const crypto = parseCrypto(line);
    if (crypto) return crypto;
  }
  return null;
}

/** The line that accepts or offers a suite with a key of ours. */
export function cryptoLine({ tag, suite }: Pick<OfferedCrypto, 'tag' | 'suite'>, key: string): string {
  return `a=crypto:${tag} ${suite} inline:${key}`;
}

/**
 * Tag, suite, one inline key with an optional lifetime and key identifier, and the session parameters. Only
 * WSH (the replay window size) may be ignored (RFC 4568 §6.3): the others change how packets are protected.
 */
function parseCrypto(line: string): OfferedCrypto | null {
  const match =
    /^a=crypto:(\d{1,9}) ([A-Z0-9_]{1,40}) inline:([A-Za-z0-9+/=]{1,64})((?:\|[0-9^:]{1,24}){0,2})((?: WSH=\d{1,5})*) *$/.exec(
      line,
    );
  const suite = Object.keys(SRTP_SUITES).find((name): name is SrtpSuite => name === match?.[2]);
  if (!match || suite === undefined) return null;
  const mkiBytes = Number(/\|\d+:(\d+)$/.exec(match[4] ?? '')?.[1] ?? 0);
  const key = match[3] ?? '';
  if (Buffer.from(key, 'base64').length !== SRTP_KEY_BYTES || mkiBytes > MAX_MKI_BYTES) return null;
  return { tag: Number(match[1]), suite, key, mkiBytes };
}

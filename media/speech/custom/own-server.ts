/** What the engines on an owner's server share: its limits, its name in messages, and its refusals. */
import type { Clock } from '#base/clock.ts';
import { type EgressGuard, EgressRefused } from '#base/egress.ts';
import { httpAddress } from '#config/custom-speech.ts';
import { SpeechError } from '../speech.ts';
import type { VendorSocketOptions } from '../vendors/connection/vendor-socket.ts';
import { categoryOf } from '../vendors/connection/vendor-status.ts';
import { guardedLookup } from './guarded-lookup.ts';

/** The server's name in messages, which its owner and the operator read. */
export const OWN_SERVER = 'The agent’s own speech server';

/** What such an engine needs of its process. */
export interface OwnServerDeps {
  readonly egress: Pick<EgressGuard, 'addressesOf' | 'checkText' | 'fetch' | 'request'>;
  readonly clock: Clock;
}

/** Target of a socket to an owner's server. Throws `SpeechError` for an address that may not be reached. */
export function socketTarget(
  url: URL,
  apiKey: string | null,
  egress: Pick<EgressGuard, 'addressesOf' | 'checkText'>,
): Pick<VendorSocketOptions, 'vendor' | 'url' | 'headers' | 'lookup'> {
  try {
    egress.checkText(httpAddress(url.href));
  } catch (error) {
    throw brokenRequest(error);
  }
  const port = Number(url.port) || (url.protocol === 'wss:' ? 443 : 80);
  return { vendor: OWN_SERVER, url, headers: bearer(apiKey), lookup: guardedLookup(egress, port) };
}

/** The header with the owner's key; none without a key. */
export function bearer(apiKey: string | null): Record<string, string> {
  return apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
}

/** The error for an answer without success. Redirects are not followed: their target was never checked. */
export function refusalOf(status: number): SpeechError {
  return new SpeechError(categoryOf(status), `${OWN_SERVER} answered HTTP ${status}`);
}

/** The error for a request that got no whole answer. */
export function brokenRequest(error: unknown): SpeechError {
  if (error instanceof SpeechError) return error;
  // `fetch` hides the refusal of a destination behind an error of its own.
  const cause = error instanceof Error && error.cause instanceof EgressRefused ? error.cause : error;
  return cause instanceof EgressRefused
    ? new SpeechError('bad_request', `${OWN_SERVER} may not be reached: ${cause.message}`, { cause })
    : new SpeechError('connectivity', `${OWN_SERVER} could not be reached, or the connection broke`, {
        cause: error,
      });
}

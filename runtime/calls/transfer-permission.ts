/**
 * Asks the control plane whether a caller may be transferred now: transfers from managed numbers count
 * towards the calls their account places (`OUTBOUND_CALLS_PER_MINUTE`).
 */

import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { parseJson } from '#base/parse-json.ts';
import { request } from '#base/undici.ts';
import { transferPermission } from '#protocol/transfer-permission.ts';

/** The caller waits meanwhile. */
const ANSWER_WITHIN_MS = 2_000;

/** Dependencies of the request. */
export interface TransferPermissionDeps {
  /** The control plane's address. */
  readonly url: string;
  /** The workers' token. */
  readonly token: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * True when the transfer may begin, also when no answer comes in time: a call outlives its control plane and
 * makes few transfers (`LIMITS.transfersPerCall`). Never rejects.
 */
export async function askForTransfer(
  { url, token, clock, logger }: TransferPermissionDeps,
  sessionId: string,
): Promise<boolean> {
  const tooLong = new AbortController();
  const timer = clock.after(ANSWER_WITHIN_MS, () => tooLong.abort(new Error('no answer in time')));
  try {
    const response = await request(`${url}/internal/transfers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ session_id: sessionId }),
      signal: tooLong.signal,
    });
    const permission = parseJson(transferPermission, await response.body.text());
    if (!permission) throw new Error(`answered ${response.statusCode}`);
    return permission.is_allowed;
  } catch (error) {
    logger.warn({ err: error, sessionId }, 'no answer whether the caller may be transferred');
    return true;
  } finally {
    timer.cancel();
  }
}

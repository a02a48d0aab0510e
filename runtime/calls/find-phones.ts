/** Asks the control plane where the phones of an extension are registered (protocol/phone-places.ts). */
import { parseJson } from '#base/parse-json.ts';
import { request } from '#base/undici.ts';
import { type PhonePlace, phonePlaces } from '#protocol/phone-places.ts';
import type { TransferPermissionDeps } from './transfer-permission.ts';

/** The caller waits meanwhile. */
const ANSWER_WITHIN_MS = 4_000;

/** Null if no answer comes in time. Never rejects. */
export async function findPhones(
  { url, token, clock, logger }: TransferPermissionDeps,
  about: { readonly sessionId: string; readonly extension: string },
): Promise<readonly PhonePlace[] | null> {
  const tooLong = new AbortController();
  const timer = clock.after(ANSWER_WITHIN_MS, () => tooLong.abort(new Error('no answer in time')));
  try {
    const response = await request(`${url}/internal/sip/phones`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ session_id: about.sessionId, extension: about.extension }),
      signal: tooLong.signal,
    });
    const answer = parseJson(phonePlaces, await response.body.text());
    if (!answer) throw new Error(`answered ${response.statusCode}`);
    return answer.places;
  } catch (error) {
    logger.warn({ err: error, ...about }, 'no answer where phones are registered');
    return null;
  } finally {
    timer.cancel();
  }
}

/** Fetches what a mailbox hears in place of a voice (`automated_lines.voicemail_recording_url`). */
import type { EgressGuard } from '#base/egress.ts';
import type { Logger } from '#base/log.ts';
import { type Recording, readRecording } from '#media/speech/recorded-voice.ts';

const TIMEOUT_MS = 10_000;
/** Two minutes of telephone speech. */
const MAX_BYTES = 2 * 2 ** 20;

/** The recording; null, with the reason in the log, if it cannot be had. Never rejects. */
export async function fetchRecording(
  url: string,
  { egress, logger }: { readonly egress: EgressGuard; readonly logger: Logger },
): Promise<Recording | null> {
  try {
    const answer = await egress.request(url, { method: 'GET', timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
    if (answer.status !== 200) throw new Error(`the server answers ${answer.status}`);
    if (answer.isTruncated) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
    return await readRecording(answer.body);
  } catch (error) {
    logger.warn({ reason: error instanceof Error ? error.message : '' }, 'no recording for mailboxes');
    return null;
  }
}

/** The doctor's check of the LiveKit server. */
import { createLogger } from '#base/log.ts';
import type { Settings } from '#config/env.ts';
import type { CheckResult } from './check-result.ts';

/** Checks that the LiveKit server answers and accepts the key; yields nothing without `LIVEKIT_URL`. */
export async function* checkLivekit(settings: Settings): AsyncGenerator<CheckResult> {
  if (settings.LIVEKIT_URL === undefined) return;
  const { openRooms } = await import('#control-plane/platform/open-rooms.ts');
  const rooms = openRooms(settings, createLogger({ level: 'silent', name: 'doctor' }));
  if (!rooms) return;
  const subject = 'LiveKit';
  const problem = await rooms.problem();
  yield problem
    ? {
        subject,
        verdict: 'failed',
        result: problem.text,
        fix: `correct ${problem.setting}, or start the server`,
      }
    : { subject, verdict: 'ok', result: `${rooms.url} answers and accepts the key` };
}

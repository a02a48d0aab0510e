/** The doctor's check of the LiveKit server. */
import { createLogger } from '#base/log.ts';
import type { Settings } from '#config/env.ts';
import { loadRooms } from '#control-plane/platform/load-rooms.ts';
import type { CheckResult } from './check-result.ts';

/** Checks that the LiveKit server answers and accepts the key; yields nothing without `LIVEKIT_URL`. */
export async function* checkLivekit(settings: Settings): AsyncGenerator<CheckResult> {
  const rooms = await loadRooms(settings, createLogger({ level: 'silent', name: 'doctor' }));
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

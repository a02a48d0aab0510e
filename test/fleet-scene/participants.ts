/** Participants in LiveKit rooms: each asks like the phones, and notes when the agent is heard. */
import { systemClock } from '#base/clock.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { microphoneOf } from './conversation.ts';
import type { HeardCall } from './disturbances.ts';

const RATE_HZ = 48_000;
/** Above the level of coded silence. */
const LOUD = 1_000;

/** A participant in a call. */
export interface Participant {
  hangUp(): Promise<void>;
  /** What it heard; `lostAtMs`, ms since 1970, is when a machine may have been lost. */
  heard(lostAtMs: number | null): HeardCall;
}

/** Joins the room of a created session. */
export async function joinRoom(
  session: { readonly livekit_url: string; readonly token: string },
  index: number,
  seconds: number,
): Promise<Participant> {
  const { samples, questionEndsMs } = microphoneOf(index, seconds, RATE_HZ);
  const caller = await LivekitCaller.join(session.livekit_url, session.token, { keepsAudio: true });
  const wallMs = Date.now() - systemClock.now();
  const startedMs = Date.now();
  // Ends with the call.
  caller.speak(samples).catch(() => undefined);
  return {
    hangUp: () => caller.hangUp(),
    heard(lostAtMs) {
      const voicedAtMs = caller.heard
        .filter(({ samples: block }) => block.some((sample) => Math.abs(sample) > LOUD))
        .map(({ atMs }) => atMs + wallMs);
      // Another agent has come since.
      const hasMoved = lostAtMs !== null && caller.subscribedAtMs.some((atMs) => atMs + wallMs > lostAtMs);
      return {
        name: `participant ${index + 1}`,
        voicedAtMs,
        questionEndsMs: questionEndsMs.map((ms) => startedMs + ms),
        interruptions: hasMoved ? [voicedAtMs.findLast((atMs) => atMs <= lostAtMs) ?? lostAtMs] : [],
        longestPauseMs: 0,
      };
    },
  };
}

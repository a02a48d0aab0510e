/** Participants in LiveKit rooms: each asks like the phones, and notes when the agent is heard. */
import { systemClock } from '#base/clock.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { listensMs, PAUSES_MS, questionAt } from './conversation.ts';
import { type HeardCall, pausesOf } from './disturbances.ts';

const RATE_HZ = 48_000;
/** Above the level of coded silence. */
const LOUD = 1_000;

/** What LiveKit keeps of a microphone before it is sent. */
const QUEUED_MS = 200;
/** A participant with blocks of 10 ms takes a tenth of a core. */
const BLOCK_MS = 50;

/** A participant in a call. */
export interface Participant {
  hangUp(): Promise<void>;
  /** What it heard within a stretch of time. */
  heard(span: Span): HeardCall;
}

/** Times are ms since 1970; `lostAtMs` is when a machine may have been lost. */
interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly lostAtMs: number | null;
}

/** Joins the room of a created session. */
export async function joinRoom(
  session: { readonly livekit_url: string; readonly token: string },
  index: number,
): Promise<Participant> {
  const caller = await LivekitCaller.join(session.livekit_url, session.token, {
    keepsAudio: true,
    blockMs: BLOCK_MS,
  });
  const wallMs = Date.now() - systemClock.now();
  const questionEndsMs: number[] = [];
  let isOver = false;
  const ask = async () => {
    await caller.speak(silence(listensMs(index)));
    while (!isOver) {
      await caller.speak(questionAt(RATE_HZ));
      questionEndsMs.push(Date.now() + QUEUED_MS);
      await caller.speak(silence(PAUSES_MS));
    }
  };
  // Ends with the call at the latest.
  ask().catch(() => undefined);
  return {
    hangUp() {
      isOver = true;
      return caller.hangUp();
    },
    heard({ fromMs, untilMs, lostAtMs }) {
      const arrivedAtMs = caller.heard.map(({ atMs }) => atMs + wallMs);
      const { interruptions, longestPauseMs } = pausesOf(arrivedAtMs, { fromMs, untilMs });
      const voicedAtMs = caller.heard
        .filter(({ samples: block }) => block.some((sample) => Math.abs(sample) > LOUD))
        .map(({ atMs }) => atMs + wallMs);
      // Another agent has come since.
      const movedAtMs = caller.subscribedAtMs
        .map((atMs) => atMs + wallMs)
        .filter((atMs) => lostAtMs !== null && atMs > lostAtMs);
      return {
        name: `participant ${index + 1}`,
        voicedAtMs,
        questionEndsMs,
        interruptions: [
          ...interruptions,
          ...movedAtMs.map((overMs) => ({ fromMs: lostAtMs ?? overMs, overMs })),
        ],
        longestPauseMs,
      };
    },
  };
}

function silence(ms: number): Int16Array {
  return new Int16Array((RATE_HZ * ms) / 1_000);
}

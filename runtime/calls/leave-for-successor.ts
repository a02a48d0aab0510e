/** How a leg ends whose caller goes on with another worker. */
import type { Clock } from '#base/clock.ts';
import type { Leg, LegEvent } from '#media/leg/leg.ts';
import type { AgentEvent } from '#protocol/session-events.ts';

const MOVED = JSON.stringify({ type: 'session.moved' } satisfies AgentEvent);

/**
 * How long at most the leg of a call that was handed over sends silence, ms: a phone until the successor has
 * its dialog, a room until the successor's participant, which has the same identity, puts this one out.
 */
const LINGER_MS: Readonly<Record<Leg['kind'], number>> = { rtp: 300, livekit: 5_000, webrtc: 0 };

/** Time for the rest of the recordings, of this leg and of a person's, once the leg has closed. */
const RECORDING_WITHIN_MS = 2_000;

/**
 * Falls silent at once and hangs up on nobody: a phone's dialog stays as it is, a browser is told to connect
 * anew. `isHandedOver`: the successor is about to come, and the leg sends silence until then.
 */
export function leaveForSuccessor(leg: Leg, isHandedOver = false): void {
  if (leg.kind === 'webrtc') leg.send({ do: 'sendMessage', json: MOVED });
  leg.send({ do: 'clear' });
  leg.send({ do: 'holdMusic', isOn: false });
  leg.send({ do: 'close', keepsDialog: true, lingerMs: isHandedOver ? LINGER_MS[leg.kind] : 0 });
}

/** Calls `done` when a leg that was left for its successor has closed and its recording has come. */
export function whenLeft(
  leg: Leg | null,
  clock: Clock,
  onRecording: (event: Extract<LegEvent, { type: 'recording' }>) => void,
  done: () => void,
): void {
  const lingerMs = leg ? LINGER_MS[leg.kind] : 0;
  const timer = clock.after(lingerMs + RECORDING_WITHIN_MS, done);
  leg?.listen((events) => {
    for (const event of events) {
      if (event.type === 'recording') onRecording(event);
      if (event.type !== 'closed') continue;
      timer.cancel();
      clock.after(RECORDING_WITHIN_MS, done);
    }
  });
}

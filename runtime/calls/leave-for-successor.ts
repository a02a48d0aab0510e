/** How a leg ends whose caller goes on with another worker. */
import type { Leg } from '#media/leg/leg.ts';
import type { AgentEvent } from '#protocol/session-events.ts';

const MOVED = JSON.stringify({ type: 'session.moved' } satisfies AgentEvent);

/**
 * Why a call is left. `taken`: another worker has it already; `handed_over`: this one gave it away and the
 * successor is about to come; `with_stream`: the same, and the successor will ask for the rest of a phone's
 * stream.
 */
export type Leaving = 'taken' | 'handed_over' | 'with_stream';

/**
 * How long at most the leg of a call that was handed over sends silence, ms: a phone until the successor has
 * its dialog, a room until the successor's participant, which has the same identity, puts this one out.
 */
const LINGER_MS: Readonly<Record<Leg['kind'], number>> = {
  rtp: 300,
  stream: 0,
  livekit: 5_000,
  webrtc: 0,
};
/**
 * The same until a successor asks for a phone's stream: a far phone may take a second to answer. One that
 * asks later goes on with the stream after a pause.
 */
const STREAM_LINGER_MS = 2_000;

/** How long at most the leg sends silence once it is left, ms. */
export function lingerMsOf({ kind }: Pick<Leg, 'kind'>, leaving: Leaving): number {
  if (leaving === 'taken') return 0;
  return leaving === 'with_stream' && kind === 'rtp' ? STREAM_LINGER_MS : LINGER_MS[kind];
}

/**
 * Falls silent at once and hangs up on nobody: a phone's dialog stays as it is, a browser is told to connect
 * anew.
 */
export function leaveForSuccessor(leg: Leg, leaving: Leaving = 'taken'): void {
  if (leg.kind === 'webrtc') leg.send({ do: 'sendMessage', json: MOVED });
  leg.send({ do: 'clear' });
  leg.send({ do: 'holdMusic', isOn: false });
  leg.send({ do: 'close', keepsDialog: true, lingerMs: lingerMsOf(leg, leaving) });
}

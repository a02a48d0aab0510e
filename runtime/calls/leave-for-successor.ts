/** How a leg ends whose caller goes on with another worker. */
import type { Leg } from '#media/leg/leg.ts';
import type { AgentEvent } from '#protocol/session-events.ts';

const MOVED = JSON.stringify({ type: 'session.moved' } satisfies AgentEvent);

/**
 * Falls silent at once and hangs up on nobody: a phone's dialog stays as it is and gets silence for
 * `lingerMs`, a browser is told to connect anew.
 */
export function leaveForSuccessor(leg: Leg, lingerMs = 0): void {
  if (leg.kind === 'webrtc') leg.send({ do: 'sendMessage', json: MOVED });
  leg.send({ do: 'clear' });
  leg.send({ do: 'holdMusic', isOn: false });
  leg.send({ do: 'close', keepsDialog: true, lingerMs });
}

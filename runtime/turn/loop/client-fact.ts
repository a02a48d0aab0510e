/** Events of a web page as facts of the conversation. */
import type { ClientEvent } from '#protocol/session-events.ts';
import type { TurnFact } from '../machine/turn-inputs.ts';

/** The fact; null for an event that is none. */
export function clientFact(event: ClientEvent): TurnFact | null {
  switch (event.type) {
    case 'user.message':
      return { type: 'user.message', text: event.text, wantsAudio: event.audio !== false };
    case 'user.activity':
      return { type: 'user.active' };
    case 'user.interrupt':
      return { type: 'user.interrupted' };
    case 'user.hangup':
      return { type: 'user.hung_up' };
    default:
      return null;
  }
}

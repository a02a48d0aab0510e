/**
 * How the messages of a web session travel in a LiveKit room: the agent's state as a participant attribute,
 * transcripts as text streams, everything else on a reliable data topic. Pure: it says what is to be sent,
 * the leg sends it.
 */
import type { AgentEvent } from '#protocol/session-events.ts';

/** Data topic of the messages to the client. */
export const AGENT_EVENTS = 'agent-event';
/** Data topic of the client's messages. */
export const CLIENT_EVENTS = 'client-event';
/** Topic of the text streams that carry transcripts. */
export const TRANSCRIPTION = 'lk.transcription';
/** Participant attribute that holds the agent's state. */
const AGENT_STATE = 'lk.agent.state';

/** One thing to send. */
export type RoomMessage =
  | { readonly as: 'attribute'; readonly attributes: Readonly<Record<string, string>> }
  | { readonly as: 'data'; readonly json: string }
  /** Opens the stream of an agent segment, or adds to the one that is open. */
  | { readonly as: 'text.part'; readonly segmentId: string; readonly text: string }
  /** A whole segment in a stream of its own: it replaces what was sent of the segment before. */
  | {
      readonly as: 'text.whole';
      readonly role: 'user' | 'agent';
      readonly segmentId: string;
      readonly text: string;
      readonly isFinal: boolean;
    };

/** Turns the events of one session, in order, into what is sent. */
export class RoomMessages {
  /** What was sent of agent segments that are still growing. */
  readonly #growing = new Map<string, string>();

  /** `json` is one `AgentEvent`, as the call loop wrote it. */
  route(json: string): RoomMessage | null {
    const event = JSON.parse(json) as AgentEvent;
    if (event.type === 'state') return { as: 'attribute', attributes: { [AGENT_STATE]: event.state } };
    if (event.type !== 'transcript') return { as: 'data', json };
    const { role, segmentId, text, final } = event;
    if (role === 'user' || final) {
      this.#growing.delete(segmentId);
      return { as: 'text.whole', role, segmentId, text, isFinal: final };
    }
    const sent = this.#growing.get(segmentId) ?? '';
    // What was heard only grows until it is final; a correction waits for that.
    if (!text.startsWith(sent) || text === sent) return null;
    this.#growing.set(segmentId, text);
    return { as: 'text.part', segmentId, text: text.slice(sent.length) };
  }
}

/** Attributes of a segment's text stream. */
export function segmentAttributes(segmentId: string, isFinal: boolean): Record<string, string> {
  return { 'lk.segment_id': segmentId, 'lk.transcription_final': String(isFinal) };
}

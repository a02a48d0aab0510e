/**
 * How the messages of a web session are sent in a LiveKit room: the agent's state as a participant attribute,
 * transcripts as text streams, everything else on a reliable data topic. Pure: the leg does the sending.
 */
import type { AgentEvent } from '#protocol/session-events.ts';

/** Data topic of messages to the client. */
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
  /** Opens the stream of an agent segment, or appends to the open one. */
  | { readonly as: 'text.part'; readonly segmentId: string; readonly text: string }
  /** A whole segment in a stream of its own: replaces what was sent of it before. */
  | {
      readonly as: 'text.whole';
      readonly role: 'user' | 'agent';
      readonly segmentId: string;
      readonly text: string;
      readonly isFinal: boolean;
    };

/** Converts the events of one session, in order. */
export class RoomMessages {
  /** Text sent so far of agent segments still in progress. */
  readonly #growing = new Map<string, string>();

  /** `json` is one `AgentEvent`, as written by the call loop. */
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
    // Heard text only grows until it is final; a correction waits for that.
    if (!text.startsWith(sent) || text === sent) return null;
    this.#growing.set(segmentId, text);
    return { as: 'text.part', segmentId, text: text.slice(sent.length) };
  }
}

/** Attributes of a segment's text stream. */
export function segmentAttributes(segmentId: string, isFinal: boolean): Record<string, string> {
  return { 'lk.segment_id': segmentId, 'lk.transcription_final': String(isFinal) };
}

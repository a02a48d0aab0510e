/** A part of an exported call, as it is written. */
import type { PartLabel } from '#protocol/call-parts.ts';
import type { TrackRole } from './stored-pieces.ts';

/** A part that may be left out of a file; `item:2` is the second entry of the transcript. */
export type Redaction =
  | 'caller_audio'
  | 'agent_audio'
  | 'transcript'
  | 'numbers'
  | 'flight_log'
  | `item:${number}`;

/** A part; its content is read when asked for. */
export interface Part {
  readonly label: PartLabel;
  readonly isRedacted: boolean;
  /** Null for a stretch that cannot be opened any more, of which the chain tells that it is missing. */
  content(): Promise<Uint8Array | null>;
}

/** A part with a value. */
export function jsonPart(label: PartLabel, value: unknown, isRedacted: boolean): Part {
  return { label, isRedacted, content: async () => Buffer.from(JSON.stringify(value)) };
}

/** The redaction of a side; a person joined by a transfer stands on the caller's side. */
export function audioOf(role: TrackRole): Redaction {
  return role === 'agent' ? 'agent_audio' : 'caller_audio';
}

/** Whether an entry of the transcript, counted from 1, is left out. */
export function isLineRedacted(redactions: ReadonlySet<Redaction>, number: number): boolean {
  return redactions.has('transcript') || redactions.has(`item:${number}`);
}

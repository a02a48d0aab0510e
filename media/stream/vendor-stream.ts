/** The media stream of a vendor of phone calls: messages of both directions, in no vendor’s words. */

/** The audio of a stream, in both directions: µ-law, or linear 16 bit, low byte first. */
export interface StreamFormat {
  readonly encoding: 'PCMU' | 'L16';
  readonly rateHz: 8000 | 16000;
}

/** One message of the vendor. */
export type StreamEvent =
  /** The call is connected, and its audio begins. */
  | { readonly type: 'started'; readonly format: StreamFormat }
  /** Audio of the caller, encoded. */
  | { readonly type: 'audio'; readonly payload: Uint8Array }
  /** The audio sent before this mark was played, or cleared. */
  | { readonly type: 'mark'; readonly name: string }
  | { readonly type: 'digit'; readonly digit: string }
  /** The caller has hung up. */
  | { readonly type: 'stopped' }
  /** Without meaning for us. */
  | { readonly type: 'other' };

/** The protocol of one vendor, for one stream. */
export interface VendorStream {
  /** Reads one message, a text or bytes. Throws `MalformedMessage`. */
  read(message: string | Uint8Array): StreamEvent;
  /** A message that plays audio after what was sent before. */
  audio(payload: Uint8Array): string | Uint8Array;
  /** A message that has the vendor say when everything sent before it was played. */
  mark(name: string): string;
  /** A message that discards what was not played yet. */
  clear(): string;
}

/** A message that no vendor would send. */
export class MalformedMessage extends Error {}

/** An event without meaning for us. */
export const OTHER = { type: 'other' } as const;

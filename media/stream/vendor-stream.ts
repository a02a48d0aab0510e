/** What the media stream of a vendor of phone calls says, and what it can be told, in no vendor's words. */
import { z } from 'zod';

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
/** A pressed key. */
export const keyShape = z.string().regex(/^[0-9*#A-D]$/);
/** The name of a mark. */
export const markShape = z.string().max(256);

/** The JSON of a text message. Throws `MalformedMessage`. */
export function parseMessage(message: string | Uint8Array): unknown {
  if (typeof message !== 'string') throw new MalformedMessage('a message of the stream is not text');
  try {
    return JSON.parse(message);
  } catch {
    throw new MalformedMessage('a message of the stream is not JSON');
  }
}

/** The value as this schema has it. Throws `MalformedMessage`. */
export function as<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new MalformedMessage('a message of the stream lacks a field');
  return parsed.data;
}

/** Bytes in base64. */
export function base64Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

/**
 * Reads the JSON of vendors' media streams. Telnyx and Plivo have taken over messages of Twilio, so those are
 * read here; each vendor's file says which of them it sends.
 */
import { z } from 'zod';
import { MalformedMessage, OTHER, type StreamEvent } from './vendor-stream.ts';

/** A pressed key. */
export const keyShape = z.string().regex(/^[0-9*#A-D]$/);
/** The name of a mark. */
export const markShape = z.string().max(256);

const message = z.object({ event: z.string().max(64) });
const media = z.object({ media: z.object({ payload: z.string(), track: z.string().optional() }) });
const mark = z.object({ mark: z.object({ name: markShape }) });
const dtmf = z.object({ dtmf: z.object({ digit: keyShape }) });

/** A text message, and the name of its event. Throws `MalformedMessage`. */
export function parseMessage(received: string | Uint8Array): { event: string; value: unknown } {
  const value = parsed(received);
  return { event: as(message, value).event, value };
}

/** The value as this schema has it. Throws `MalformedMessage`. */
export function as<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const read = schema.safeParse(value);
  if (!read.success) throw new MalformedMessage('a message of the stream lacks a field');
  return read.data;
}

/** The event `media`. A stream of both directions has the caller's track only. */
export function readMedia(value: unknown): StreamEvent {
  const { payload, track } = as(media, value).media;
  return track === 'outbound' ? OTHER : { type: 'audio', payload: Buffer.from(payload, 'base64') };
}

/** The event `mark`. */
export function readMark(value: unknown): StreamEvent {
  return { type: 'mark', name: as(mark, value).mark.name };
}

/** The event `dtmf`. */
export function readDtmf(value: unknown): StreamEvent {
  return { type: 'digit', digit: as(dtmf, value).dtmf.digit };
}

/** Bytes in base64. */
export function base64Of({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

function parsed(received: string | Uint8Array): unknown {
  if (typeof received !== 'string') throw new MalformedMessage('a message of the stream is not text');
  try {
    return JSON.parse(received);
  } catch {
    throw new MalformedMessage('a message of the stream is not JSON');
  }
}

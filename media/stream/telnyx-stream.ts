/**
 * Messages of Telnyx Media Streaming in both directions, with RTP payloads (Telnyx documentation, "Stream
 * call media over WebSocket"): JSON in text frames. The answer to the call asks for µ-law at 8 kHz.
 */
import { z } from 'zod';
import {
  as,
  base64Of,
  keyShape,
  markShape,
  OTHER,
  parseMessage,
  type StreamEvent,
  type VendorStream,
} from './vendor-stream.ts';

const message = z.object({ event: z.string().max(64) });
const started = z.object({
  start: z.object({
    media_format: z.object({
      encoding: z.literal('PCMU'),
      sample_rate: z.literal(8000),
      channels: z.literal(1),
    }),
  }),
});
const media = z.object({ media: z.object({ payload: z.string(), track: z.string().optional() }) });
const mark = z.object({ mark: z.object({ name: markShape }) });
const dtmf = z.object({ dtmf: z.object({ digit: keyShape }) });

/** One stream. */
export class TelnyxStream implements VendorStream {
  read(received: string | Uint8Array): StreamEvent {
    const value = parseMessage(received);
    switch (as(message, value).event) {
      case 'start':
        as(started, value);
        return { type: 'started', format: { encoding: 'PCMU', rateHz: 8000 } };
      case 'media': {
        const { payload, track } = as(media, value).media;
        return track === 'outbound' ? OTHER : { type: 'audio', payload: Buffer.from(payload, 'base64') };
      }
      case 'mark':
        return { type: 'mark', name: as(mark, value).mark.name };
      case 'dtmf':
        return { type: 'digit', digit: as(dtmf, value).dtmf.digit };
      case 'stop':
        return { type: 'stopped' };
      default:
        return OTHER;
    }
  }

  audio(payload: Uint8Array): string {
    return JSON.stringify({ event: 'media', media: { payload: base64Of(payload) } });
  }

  mark(name: string): string {
    return JSON.stringify({ event: 'mark', mark: { name } });
  }

  clear(): string {
    return JSON.stringify({ event: 'clear' });
  }
}

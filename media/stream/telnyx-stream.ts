/**
 * Messages of Telnyx Media Streaming in both directions, with RTP payloads (Telnyx documentation, "Stream
 * call media over WebSocket"): JSON in text frames. The answer to the call asks for µ-law at 8 kHz.
 */
import { z } from 'zod';
import { as, base64Of, parseMessage, readDtmf, readMark, readMedia } from './json-messages.ts';
import { OTHER, type StreamEvent, type VendorStream } from './vendor-stream.ts';

const started = z.object({
  start: z.object({
    media_format: z.object({
      encoding: z.literal('PCMU'),
      sample_rate: z.literal(8000),
      channels: z.literal(1),
    }),
  }),
});

/** One stream. */
export class TelnyxStream implements VendorStream {
  read(received: string | Uint8Array): StreamEvent {
    const { event, value } = parseMessage(received);
    switch (event) {
      case 'start':
        as(started, value);
        return { type: 'started', format: { encoding: 'PCMU', rateHz: 8000 } };
      case 'media':
        return readMedia(value);
      case 'mark':
        return readMark(value);
      case 'dtmf':
        return readDtmf(value);
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

/**
 * Messages of Twilio's bidirectional Media Streams: JSON in text frames, audio as µ-law at 8 kHz in base64
 * (www.twilio.com/docs/voice/media-streams/websocket-messages).
 */
import { z } from 'zod';
import { as, base64Of, parseMessage, readDtmf, readMark, readMedia } from './json-messages.ts';
import { OTHER, type StreamEvent, type VendorStream } from './vendor-stream.ts';

const started = z.object({
  streamSid: z.string().min(1).max(64),
  start: z.object({
    mediaFormat: z.object({
      encoding: z.literal('audio/x-mulaw'),
      sampleRate: z.literal(8000),
      channels: z.literal(1),
    }),
  }),
});

/** One stream. */
export class TwilioStream implements VendorStream {
  /** Names the stream in messages to Twilio; empty until it has started. */
  #streamSid = '';

  read(received: string | Uint8Array): StreamEvent {
    const { event, value } = parseMessage(received);
    switch (event) {
      case 'start':
        this.#streamSid = as(started, value).streamSid;
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
    return JSON.stringify({
      event: 'media',
      streamSid: this.#streamSid,
      media: { payload: base64Of(payload) },
    });
  }

  mark(name: string): string {
    return JSON.stringify({ event: 'mark', streamSid: this.#streamSid, mark: { name } });
  }

  clear(): string {
    return JSON.stringify({ event: 'clear', streamSid: this.#streamSid });
  }
}

/**
 * Messages of Twilio's bidirectional Media Streams: JSON in text frames, audio as µ-law at 8 kHz in base64
 * (www.twilio.com/docs/voice/media-streams/websocket-messages).
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

const sid = z.string().min(1).max(64);
const started = z.object({
  streamSid: sid,
  start: z.object({
    mediaFormat: z.object({
      encoding: z.literal('audio/x-mulaw'),
      sampleRate: z.literal(8000),
      channels: z.literal(1),
    }),
  }),
});
const media = z.object({ media: z.object({ payload: z.string(), track: z.string().optional() }) });
const mark = z.object({ mark: z.object({ name: markShape }) });
const dtmf = z.object({ dtmf: z.object({ digit: keyShape }) });
const message = z.object({ event: z.string().max(64) });

/** One stream. */
export class TwilioStream implements VendorStream {
  /** Names the stream in messages to Twilio; empty until it has started. */
  #streamSid = '';

  read(received: string | Uint8Array): StreamEvent {
    const value = parseMessage(received);
    switch (as(message, value).event) {
      case 'start': {
        this.#streamSid = as(started, value).streamSid;
        return { type: 'started', format: { encoding: 'PCMU', rateHz: 8000 } };
      }
      case 'media': {
        const { payload, track } = as(media, value).media;
        // A stream of both directions has the caller's track only.
        if (track === 'outbound') return OTHER;
        return { type: 'audio', payload: Buffer.from(payload, 'base64') };
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

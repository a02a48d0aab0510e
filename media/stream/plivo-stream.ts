/**
 * Messages of Plivo's bidirectional Audio Streaming (Plivo documentation, "Audio streaming" and "Checkpoint
 * event"): JSON in text frames. The answer to the call asks for µ-law at 8 kHz. A checkpoint of audio that
 * was cleared does not come back.
 */
import { z } from 'zod';
import { as, base64Of, markShape, parseMessage, readDtmf, readMedia } from './json-messages.ts';
import { OTHER, type StreamEvent, type VendorStream } from './vendor-stream.ts';

const started = z.object({
  start: z.object({
    streamId: z.string().min(1).max(64),
    mediaFormat: z.object({ encoding: z.literal('audio/x-mulaw'), sampleRate: z.literal(8000) }),
  }),
});
const played = z.object({ name: markShape });

/** One stream. */
export class PlivoStream implements VendorStream {
  /** Names the stream in messages to Plivo; empty until it has started. */
  #streamId = '';

  read(received: string | Uint8Array): StreamEvent {
    const { event, value } = parseMessage(received);
    switch (event) {
      case 'start':
        this.#streamId = as(started, value).start.streamId;
        return { type: 'started', format: { encoding: 'PCMU', rateHz: 8000 } };
      case 'media':
        return readMedia(value);
      case 'playedStream':
        return { type: 'mark', name: as(played, value).name };
      case 'dtmf':
        return readDtmf(value);
      default:
        return OTHER;
    }
  }

  audio(payload: Uint8Array): string {
    const media = { contentType: 'audio/x-mulaw', sampleRate: 8000, payload: base64Of(payload) };
    return JSON.stringify({ event: 'playAudio', media });
  }

  mark(name: string): string {
    return JSON.stringify({ event: 'checkpoint', streamId: this.#streamId, name });
  }

  clear(): string {
    return JSON.stringify({ event: 'clearAudio', streamId: this.#streamId });
  }
}

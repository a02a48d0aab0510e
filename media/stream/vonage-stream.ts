/**
 * Messages of Vonage's WebSocket endpoint (Vonage documentation, "WebSockets in the Vonage Voice API"):
 * audio as linear 16 bit samples in binary frames of 20 ms, commands and events as JSON in text frames. The
 * answer to the call asks for 16 kHz.
 */
import { z } from 'zod';
import { as, keyShape, markShape, parseMessage } from './json-messages.ts';
import { MalformedMessage, OTHER, type StreamEvent, type VendorStream } from './vendor-stream.ts';

const connected = z.object({ 'content-type': z.literal('audio/l16;rate=16000') });
const notified = z.object({ payload: z.object({ mark: markShape }) });
const dtmf = z.object({ digit: keyShape });

/** One stream. */
export class VonageStream implements VendorStream {
  read(received: string | Uint8Array): StreamEvent {
    if (typeof received !== 'string') {
      if (received.length % 2 !== 0) throw new MalformedMessage('half a sample');
      return { type: 'audio', payload: received };
    }
    const { event, value } = parseMessage(received);
    switch (event) {
      case 'websocket:connected':
        as(connected, value);
        return { type: 'started', format: { encoding: 'L16', rateHz: 16000 } };
      case 'websocket:notify':
        return { type: 'mark', name: as(notified, value).payload.mark };
      case 'websocket:dtmf':
        return { type: 'digit', digit: as(dtmf, value).digit };
      default:
        return OTHER;
    }
  }

  audio(payload: Uint8Array): Uint8Array {
    return payload;
  }

  mark(name: string): string {
    return JSON.stringify({ action: 'notify', payload: { mark: name } });
  }

  clear(): string {
    return JSON.stringify({ action: 'clear' });
  }
}

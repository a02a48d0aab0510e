/**
 * Streamed synthesis at Deepgram (`WS /v1/speak`), without word times. Each socket serves one text, because
 * at most twenty flushes a minute are allowed.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { VENDORS } from '#config/vendors.ts';
import { offeredRate, SampleReader } from '../audio/pcm-bytes.ts';
import { defaultVoice } from '../default-voice.ts';
import { SpeechError, type SynthesisOutlook, type Synthesizer } from '../speech.ts';
import type { ChunkQueue } from './connection/chunk-queue.ts';
import { speakOverSocket } from './connection/socket-speech.ts';
import { socketUrl, VendorSocket } from './connection/vendor-socket.ts';
import { WarmSockets } from './connection/warm-sockets.ts';
import { authorization } from './deepgram-access.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

const RATES_HZ = [8_000, 16_000, 24_000, 32_000, 48_000];
const SLOWEST = 0.7;
const FASTEST = 1.5;
const SPARE_MS = 50_000;
/** Most characters per `Speak`. */
const PIECES = /.{1,2000}/gsu;

const message = z.object({ type: z.string(), description: z.string().optional() });

/** Creates the synthesiser. */
export function createDeepgramSynthesizer(options: SpeechVendorOptions): Synthesizer {
  const { clock } = options;
  const connect = (url: URL) =>
    new VendorSocket({ vendor: 'Deepgram', url, headers: authorization(options), clock });
  const sockets = new WarmSockets({ clock, idleMs: SPARE_MS, connect });
  const voices = VENDORS.deepgram.voices;
  const urlOf = (outlook: SynthesisOutlook) => {
    const speed = Math.min(FASTEST, Math.max(SLOWEST, outlook.speed));
    return socketUrl(options.baseUrl, '/v1/speak', {
      model: outlook.voiceId ?? defaultVoice(voices, outlook.language),
      encoding: 'linear16',
      sample_rate: String(offeredRate(RATES_HZ, outlook.sampleRateHz)),
      speed: speed === 1 ? undefined : String(speed),
    });
  };
  return {
    id: 'deepgram',
    voices,
    prepare: (outlook) => sockets.prepare(urlOf(outlook)),
    async *synthesise(text, synthesis) {
      synthesis.signal.throwIfAborted();
      if (text.trim() === '') return;
      const rateHz = offeredRate(RATES_HZ, synthesis.sampleRateHz);
      const pieces = text.match(PIECES) ?? [];
      const messages = [...pieces.map((piece) => ({ type: 'Speak', text: piece })), { type: 'Flush' }].map(
        (each) => JSON.stringify(each),
      );
      const farewell = JSON.stringify({ type: 'Close' });
      const speech = {
        vendor: 'Deepgram',
        url: urlOf(synthesis),
        messages,
        farewell,
        createReader: (queue: ChunkQueue) => createReader(rateHz, queue),
      };
      yield* speakOverSocket(speech, { sockets, clock, signal: synthesis.signal });
    },
    close: async () => sockets.close(),
  };
}

function createReader(rateHz: number, queue: ChunkQueue) {
  const samples = new SampleReader();
  return {
    onBinary: (bytes: Buffer) =>
      queue.push({ samples: samples.read(bytes), sampleRateHz: rateHz, words: null }),
    onText(text: string) {
      const received = parseJson(message, text);
      if (received?.type === 'Flushed') queue.end();
      // A warning means that a request was not carried out: this text gets no audio.
      if (received?.type === 'Warning' || received?.type === 'Error')
        queue.fail(new SpeechError('unavailable', `Deepgram: ${received.description ?? received.type}`));
    },
  };
}

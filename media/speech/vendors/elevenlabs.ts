/**
 * Streamed synthesis at ElevenLabs with character times (`WS /v1/text-to-speech/{voice}/stream-input`). Each
 * socket serves one text; the next one is opened in advance.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { VENDORS } from '#config/vendors.ts';
import { offeredRate, SampleReader } from '../audio/pcm-bytes.ts';
import {
  type SpeechChunk,
  SpeechError,
  type SynthesisOptions,
  type SynthesisOutlook,
  type Synthesizer,
} from '../speech.ts';
import { CharacterTimes } from '../text/spoken-words.ts';
import type { ChunkQueue } from './connection/chunk-queue.ts';
import { speakOverSocket } from './connection/socket-speech.ts';
import { socketUrl, VendorSocket } from './connection/vendor-socket.ts';
import { WarmSockets } from './connection/warm-sockets.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

const MODEL = 'eleven_flash_v2_5';
const RATES_HZ = [8_000, 16_000, 22_050, 24_000, 44_100];
/** The vendor's maximum; a spare is closed earlier. */
const INACTIVITY_SECONDS = 180;
const SPARE_MS = 150_000;
const SLOWEST = 0.7;
const FASTEST = 1.2;

const numbers = z.array(z.number());
const alignment = z.object({
  chars: z.array(z.string()),
  charStartTimesMs: numbers,
  charDurationsMs: numbers,
});
const output = z.object({
  audio: z.string().nullish(),
  isFinal: z.boolean().nullish(),
  alignment: alignment.nullish().catch(null),
});
const failure = z.object({ error: z.string(), message: z.string().optional() });
const message = z.union([failure, output]);

/** Creates the synthesiser. */
export function createElevenlabsSynthesizer(options: SpeechVendorOptions): Synthesizer {
  const { clock, apiKey } = options;
  const headers: Record<string, string> = apiKey === undefined ? {} : { 'xi-api-key': apiKey };
  const sockets = new WarmSockets({
    clock,
    idleMs: SPARE_MS,
    connect: (url) => new VendorSocket({ vendor: 'ElevenLabs', url, headers, clock }),
  });
  const voices = VENDORS.elevenlabs.voices;

  function urlOf({ voiceId, language, sampleRateHz }: SynthesisOutlook): URL {
    return socketUrl(
      options.baseUrl,
      `/v1/text-to-speech/${encodeURIComponent(voiceId ?? voices[0].id)}/stream-input`,
      {
        model_id: MODEL,
        language_code: language,
        output_format: `pcm_${offeredRate(RATES_HZ, sampleRateHz)}`,
        auto_mode: 'true',
        sync_alignment: 'true',
        inactivity_timeout: String(INACTIVITY_SECONDS),
      },
    );
  }

  function synthesise(text: string, synthesis: SynthesisOptions): AsyncGenerator<SpeechChunk> {
    const rateHz = offeredRate(RATES_HZ, synthesis.sampleRateHz);
    const url = urlOf(synthesis);
    const speed = Math.min(FASTEST, Math.max(SLOWEST, synthesis.speed));
    const messages = [{ text: ' ', voice_settings: { speed } }, { text: `${text} ` }, { text: '' }].map(
      (each) => JSON.stringify(each),
    );
    const speech = {
      vendor: 'ElevenLabs',
      url,
      messages,
      createReader: (queue: ChunkQueue) => createReader(text, rateHz, queue),
    };
    return speakOverSocket(speech, { sockets, clock, signal: synthesis.signal });
  }

  return {
    id: 'elevenlabs',
    voices,
    prepare: (outlook) => sockets.prepare(urlOf(outlook)),
    async *synthesise(text, synthesis) {
      synthesis.signal.throwIfAborted();
      if (text.trim() !== '') yield* synthesise(text, synthesis);
    },
    close: async () => sockets.close(),
  };
}

function createReader(spoken: string, rateHz: number, queue: ChunkQueue) {
  const samples = new SampleReader();
  const times = new CharacterTimes(spoken);
  let heardMs = 0;
  return {
    onText(text: string) {
      const received = parseJson(message, text);
      if (!received) return;
      if ('error' in received) {
        queue.fail(errorOf(received));
        return;
      }
      const { audio, isFinal, alignment: aligned } = received;
      if (audio) {
        const chunk = samples.read(Buffer.from(audio, 'base64'));
        // Times are relative to the start of their chunk.
        const startsMs = aligned?.charStartTimesMs.map((ms) => ms + heardMs) ?? [];
        const words = aligned ? times.take(aligned.chars, startsMs, aligned.charDurationsMs) : [];
        heardMs += (chunk.length * 1_000) / rateHz;
        queue.push({ samples: chunk, sampleRateHz: rateHz, words });
      }
      if (isFinal) queue.end();
    },
  };
}

/** The message gives the reason of a refusal; the close code is always the same. */
function errorOf({ error, message: reason }: z.output<typeof failure>): SpeechError {
  const text = `ElevenLabs: ${reason ?? error}`;
  if (/quota|credits/.test(error)) return new SpeechError('quota', text);
  if (/api_key|unauthori[sz]ed|permission/.test(error)) return new SpeechError('authentication', text);
  if (/busy|too_many|concurrent|rate_limit/.test(error)) return new SpeechError('overloaded', text);
  if (/internal|server/.test(error)) return new SpeechError('unavailable', text);
  return new SpeechError('bad_request', text);
}

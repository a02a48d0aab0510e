/**
 * Synthesis at Google Cloud's Text-to-Speech (`text:synthesize`): one POST for each text, whose whole audio
 * comes in one JSON answer. This API reports no times of words.
 *
 * Source: Google's page "Method: text.synthesize" (v1).
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { VENDORS } from '#config/vendors.ts';
import { offeredRate } from '../audio/pcm-bytes.ts';
import { SpeechError, type SynthesisOptions, type Synthesizer } from '../speech.ts';
import { speakOverHttp } from './connection/http-speech.ts';
import { refusal } from './connection/vendor-status.ts';
import { apiAddress, GOOGLE_KEY_ADVICE, GoogleCredentials } from './google-access.ts';
import { localeOf } from './locales.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

const RATES_HZ = [8_000, 16_000, 24_000, 48_000];
/** The vendor's bounds, as a multiple of the usual speed. */
const SLOWEST = 0.25;
const FASTEST = 2;
/** Longest answer: five minutes at 48 kHz, in base64. A text of the vendor's longest is shorter. */
const MAX_ANSWER_BYTES = 40 * 2 ** 20;
/** Samples passed on at once: a quarter of a second at 16 kHz. */
const PIECE_SAMPLES = 4_000;
/** The locale of a voice that has one in its name. */
const VOICE_LOCALE = /^[a-z]{2,3}-[A-Z]{2}(?=-)/;
/** The vendor's codes for voices, where they are not those for recognition. */
const VOICE_LOCALES: Readonly<Record<string, string>> = { zh: 'cmn-CN', ar: 'ar-XA' };

const answer = z.object({ audioContent: z.string() });

/** Creates the synthesiser. */
export function createGoogleSynthesizer(options: SpeechVendorOptions): Synthesizer {
  const { clock } = options;
  const credentials = new GoogleCredentials(options, 'texttospeech');
  const url = `${apiAddress(options.baseUrl, 'texttospeech')}/v1/text:synthesize`;
  return {
    id: 'google_cloud',
    voices: VENDORS.google_cloud.voices,
    async *synthesise(text, synthesis) {
      synthesis.signal.throwIfAborted();
      if (text.trim() === '') return;
      const rateHz = offeredRate(RATES_HZ, synthesis.sampleRateHz);
      const speech = {
        vendor: 'Google',
        url,
        headers: { 'content-type': 'application/json; charset=utf-8', ...credentials.headers() },
        body: JSON.stringify(requestOf(text, rateHz, synthesis)),
        rateHz,
        readSamples,
        refusalOf,
      };
      yield* speakOverHttp(speech, { clock, signal: synthesis.signal });
    },
  };
}

function requestOf(text: string, rateHz: number, { voiceId, language, speed }: SynthesisOptions): object {
  const chosen = voiceId ?? VENDORS.google_cloud.voices[0].id;
  const locale = VOICE_LOCALE.exec(chosen)?.[0];
  const languageCode = locale ?? VOICE_LOCALES[language] ?? localeOf(language);
  return {
    input: { text },
    voice: { languageCode, name: locale === undefined ? `${languageCode}-${chosen}` : chosen },
    audioConfig: {
      // Without the header that LINEAR16 has.
      audioEncoding: 'PCM',
      sampleRateHertz: rateHz,
      ...(speed === 1 ? {} : { speakingRate: Math.min(FASTEST, Math.max(SLOWEST, speed)) }),
    },
  };
}

async function* readSamples(body: AsyncIterable<Uint8Array>): AsyncGenerator<Int16Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const bytes of body) {
    length += bytes.length;
    if (length > MAX_ANSWER_BYTES)
      throw new SpeechError('unavailable', `Google sent more than ${MAX_ANSWER_BYTES} bytes for a text`);
    pieces.push(bytes);
  }
  const parsed = parseJson(answer, Buffer.concat(pieces).toString());
  if (!parsed) throw new SpeechError('unavailable', 'Google sent an answer that is not in the protocol');
  const audio = Buffer.from(parsed.audioContent, 'base64');
  const samples = new Int16Array(audio.length >> 1);
  // Memory has the same order: every machine we support is little-endian.
  new Uint8Array(samples.buffer).set(audio.subarray(0, samples.byteLength));
  for (let at = 0; at < samples.length; at += PIECE_SAMPLES) yield samples.subarray(at, at + PIECE_SAMPLES);
}

/** A wrong API key is an invalid argument here. */
function refusalOf(status: number, body: string): SpeechError {
  const isKey = status === 400 && body.includes('API_KEY_INVALID');
  return refusal(isKey ? 401 : status, `Google answered HTTP ${status}`, GOOGLE_KEY_ADVICE);
}

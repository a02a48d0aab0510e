/**
 * Synthesis at Google Cloud's Text-to-Speech (`text:synthesize`): one POST for each text, whose whole audio
 * comes in one JSON answer. A mark before each word gives their times, with the voices that read marks.
 *
 * Source: Google's pages "Method: text.synthesize" (v1 and v1beta1) and "Speech Synthesis Markup Language".
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { VENDORS } from '#config/vendors.ts';
import { offeredRate, SampleReader } from '../audio/pcm-bytes.ts';
import { defaultVoice } from '../default-voice.ts';
import { SpeechError, type SpokenWord, type SynthesisOptions, type Synthesizer } from '../speech.ts';
import { xmlText } from '../text/ssml.ts';
import { type SpeechPiece, speakOverHttp } from './connection/http-speech.ts';
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
/** Of a WAV file: most bytes before its audio, place of its first chunk, bytes before a chunk’s content. */
const MAX_HEAD_BYTES = 4_096;
const FORMAT_AT = 12;
const CHUNK_HEAD_BYTES = 8;
/** Samples passed on at once: a quarter of a second at 16 kHz. */
const PIECE_SAMPLES = 4_000;
/** The locale of a voice that has one in its name. */
const VOICE_LOCALE = /^[a-z]{2,3}-[A-Z]{2}(?=-)/;
/** Voices that read marks. */
const MARKED_VOICE = /-(?:Standard|Wavenet|Neural2|News|Polyglot)-/;
/** The vendor's codes for voices, where they are not those for recognition. */
const VOICE_LOCALES: Readonly<Record<string, string>> = { zh: 'cmn-CN', ar: 'ar-XA' };

const answer = z.object({
  audioContent: z.string(),
  timepoints: z.array(z.object({ markName: z.string(), timeSeconds: z.number() })).nullish(),
});

/** Creates the synthesiser. */
export function createGoogleSynthesizer(options: SpeechVendorOptions): Synthesizer {
  const { clock } = options;
  const credentials = new GoogleCredentials(options, 'texttospeech');
  const address = apiAddress(options.baseUrl, 'texttospeech');
  return {
    id: 'google_cloud',
    voices: VENDORS.google_cloud.voices,
    async *synthesise(text, synthesis) {
      synthesis.signal.throwIfAborted();
      if (text.trim() === '') return;
      const rateHz = offeredRate(RATES_HZ, synthesis.sampleRateHz);
      const isMarked = MARKED_VOICE.test(synthesis.voiceId ?? '');
      const speech = {
        vendor: 'Google',
        // Only this version knows marks.
        url: `${address}/${isMarked ? 'v1beta1' : 'v1'}/text:synthesize`,
        headers: { 'content-type': 'application/json; charset=utf-8', ...credentials.headers() },
        body: JSON.stringify({
          ...requestOf(rateHz, synthesis),
          ...(isMarked
            ? { input: { ssml: markedSsml(text) }, enableTimePointing: ['SSML_MARK'] }
            : { input: { text } }),
        }),
        rateHz,
        readPieces: (body: AsyncIterable<Uint8Array>) => readPieces(body, isMarked ? text : null, rateHz),
        refusalOf,
      };
      yield* speakOverHttp(speech, { clock, signal: synthesis.signal });
    },
  };
}

function requestOf(rateHz: number, { voiceId, language, speed }: SynthesisOptions): object {
  const chosen = voiceId ?? defaultVoice(VENDORS.google_cloud.voices, language);
  const locale = VOICE_LOCALE.exec(chosen)?.[0];
  const languageCode = locale ?? VOICE_LOCALES[language] ?? localeOf(language);
  return {
    voice: { languageCode, name: locale === undefined ? `${languageCode}-${chosen}` : chosen },
    audioConfig: {
      // `PCM`, which has no header, is documented for a few voices only.
      audioEncoding: 'LINEAR16',
      sampleRateHertz: rateHz,
      ...(speed === 1 ? {} : { speakingRate: Math.min(FASTEST, Math.max(SLOWEST, speed)) }),
    },
  };
}

/** The words of a text, each after a mark with its number. */
function markedSsml(text: string): string {
  const words = text.match(/\S+/g) ?? [];
  return `<speak>${words.map((word, index) => `<mark name="${index}"/>${xmlText(word)}`).join(' ')}</speak>`;
}

/** `marked`: the text, if its words have marks. */
async function* readPieces(
  body: AsyncIterable<Uint8Array>,
  marked: string | null,
  rateHz: number,
): AsyncGenerator<SpeechPiece> {
  const parsed = parseJson(answer, await wholeText(body));
  if (!parsed) throw notInProtocol();
  const samples = new SampleReader().read(audioIn(Buffer.from(parsed.audioContent, 'base64')));
  const times = new Map(
    parsed.timepoints?.map(({ markName, timeSeconds }) => [markName, timeSeconds * 1_000]),
  );
  const words = marked === null ? null : wordsOf(marked, times, (samples.length * 1_000) / rateHz);
  for (let at = 0; at < samples.length; at += PIECE_SAMPLES) {
    const endMs = ((at + PIECE_SAMPLES) * 1_000) / rateHz;
    const begun = words?.filter(({ startMs }) => startMs < endMs).length ?? 0;
    yield { samples: samples.subarray(at, at + PIECE_SAMPLES), words: words?.splice(0, begun) ?? null };
  }
}

/** The bytes after the header of a WAV file. */
function audioIn(file: Buffer): Buffer {
  const head = file.toString('latin1', 0, MAX_HEAD_BYTES);
  const at = head.indexOf('data', FORMAT_AT);
  if (!head.startsWith('RIFF') || at < 0) throw notInProtocol();
  return file.subarray(at + CHUNK_HEAD_BYTES);
}

function notInProtocol(): SpeechError {
  return new SpeechError('unavailable', 'Google sent an answer that is not in the protocol');
}

async function wholeText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const bytes of body) {
    length += bytes.length;
    if (length > MAX_ANSWER_BYTES)
      throw new SpeechError('unavailable', `Google sent more than ${MAX_ANSWER_BYTES} bytes for a text`);
    pieces.push(bytes);
  }
  return Buffer.concat(pieces).toString();
}

/** The words whose marks have a time, in order; each lasts until the next. */
function wordsOf(text: string, times: ReadonlyMap<string, number>, lengthMs: number): SpokenWord[] {
  const timed = [...text.matchAll(/\S+/g)].flatMap((match, index) => {
    const startMs = times.get(String(index));
    return startMs === undefined
      ? []
      : [{ textStart: match.index, textEnd: match.index + match[0].length, startMs }];
  });
  return timed.map((word, index) => ({ ...word, endMs: timed[index + 1]?.startMs ?? lengthMs }));
}

/** A wrong API key is an invalid argument here. */
function refusalOf(status: number, body: string): SpeechError {
  const isKey = status === 400 && body.includes('API_KEY_INVALID');
  return refusal(isKey ? 401 : status, `Google answered HTTP ${status}`, GOOGLE_KEY_ADVICE);
}

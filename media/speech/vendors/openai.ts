/**
 * Speech engines with an OpenAI-compatible API: recognition, live if the model can (`openai-live.ts`) and
 * otherwise one utterance per request (`/audio/transcriptions`), and streamed synthesis (`/audio/speech`, 24
 * kHz PCM).
 */
import { z } from 'zod';
import type { Clock } from '#base/clock.ts';
import { isLiveModel, VENDORS } from '#config/vendors.ts';
import { toWav } from '../audio/wav.ts';
import {
  type RecognitionOptions,
  type RecognitionStream,
  type Recognizer,
  type SpeechChunk,
  SpeechError,
  type SynthesisOptions,
  type Synthesizer,
} from '../speech.ts';
import { openUtteranceStream } from '../utterance-stream.ts';
import { speakOverHttp } from './connection/http-speech.ts';
import { requestVendor } from './connection/vendor-request.ts';
import { authorization } from './openai-access.ts';
import { createOpenaiLiveRecognizer } from './openai-live.ts';
import type { SpeechVendorOptions } from './speech-access.ts';

/** In messages: the address may be that of any server with these routes. */
const VENDOR = 'The speech engine';
const TRANSCRIPT_DEADLINE_MS = 8_000;
/** Used for recordings if the requested model is live only. */
const RECORDING_MODEL = 'gpt-transcribe';
const SPEECH_RATE_HZ = 24_000;
const SPEECH_MODEL = 'tts-1';
const DEFAULT_VOICE = 'alloy';
/** A longer keyterm prompt is cut: the model reads at most 224 tokens. */
const PROMPT_CHARS = 600;

const transcription = z.object({ text: z.string() });

/** Posts a form to `/audio/transcriptions` and returns the parsed answer. Throws `SpeechError`. */
type PostTranscription = (form: FormData, signal: AbortSignal) => Promise<unknown>;

/** Creates the recogniser: live if the model is, otherwise one utterance at a time. */
export function createOpenaiRecognizer(model: string, options: SpeechVendorOptions): Recognizer {
  if (!isLiveModel('openai', model))
    return {
      id: `openai:${model}`,
      givesInterims: false,
      expectedFinalMs: 900,
      open: (recognition) => listenByUtterances(model, recognition, transcriptionsOf(options)),
    };
  const live = createOpenaiLiveRecognizer(model, options);
  // A recording is no conversation: no turn detection.
  const open = (recognition: RecognitionOptions) =>
    recognition.deadlineMs === undefined
      ? live.open(recognition)
      : listenByUtterances(RECORDING_MODEL, recognition, transcriptionsOf(options));
  return { ...live, open };
}

/** Opens a stream that posts one utterance at a time. */
export function listenByUtterances(
  model: string,
  recognition: RecognitionOptions,
  { post, clock }: { readonly post: PostTranscription; readonly clock: Clock },
): RecognitionStream {
  const transcribe = async (samples: Int16Array, signal: AbortSignal) => {
    const form = new FormData();
    form.set('model', model);
    form.set('response_format', 'json');
    form.set(
      'file',
      new Blob([new Uint8Array(toWav(samples, recognition.sampleRateHz))], { type: 'audio/wav' }),
      'utterance.wav',
    );
    if (!recognition.multilingual) form.set('language', recognition.language);
    if (recognition.keyterms.length > 0)
      form.set('prompt', recognition.keyterms.join(', ').slice(0, PROMPT_CHARS));
    const parsed = transcription.safeParse(await post(form, signal));
    if (!parsed.success)
      throw new SpeechError('unavailable', 'The transcription does not follow the protocol');
    return parsed.data.text.trim();
  };
  return openUtteranceStream({ recognition, transcribe, clock, deadlineMs: TRANSCRIPT_DEADLINE_MS });
}

function transcriptionsOf(options: SpeechVendorOptions) {
  return {
    post: (form: FormData, signal: AbortSignal) => postForm(form, options, signal),
    clock: options.clock,
  };
}

async function postForm(body: FormData, options: SpeechVendorOptions, signal: AbortSignal): Promise<unknown> {
  const url = addressOf(options, '/audio/transcriptions');
  const headers = authorization(options);
  const response = await requestVendor({ vendor: VENDOR, url, method: 'POST', headers, body, signal });
  return response.json().catch(() => null);
}

/** Creates the synthesiser, which streams. */
export function createOpenaiSynthesizer(options: SpeechVendorOptions): Synthesizer {
  return {
    id: 'openai',
    voices: VENDORS.openai.voices,
    synthesise: (text, synthesis) => speak(text, synthesis, options),
  };
}

async function* speak(
  text: string,
  { voiceId, speed, signal }: SynthesisOptions,
  options: SpeechVendorOptions,
): AsyncGenerator<SpeechChunk> {
  if (text.trim() === '') return;
  const body = JSON.stringify({
    model: SPEECH_MODEL,
    input: text,
    voice: voiceId ?? DEFAULT_VOICE,
    response_format: 'pcm',
    speed,
  });
  const speech = {
    vendor: VENDOR,
    url: addressOf(options, '/audio/speech'),
    headers: { 'content-type': 'application/json', ...authorization(options) },
    body,
    rateHz: SPEECH_RATE_HZ,
  };
  yield* speakOverHttp(speech, { clock: options.clock, signal });
}

function addressOf(options: SpeechVendorOptions, path: string): string {
  return `${options.baseUrl.replace(/^ws/, 'http')}${path}`;
}

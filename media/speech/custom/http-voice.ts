/**
 * A voice on an owner's server: one `POST` per text, whose answer is played as it arrives. It serves both
 * protocols, which differ in the request only. An MP3 is decoded when it is complete.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { PlannedVoice } from '#config/custom-speech.ts';
import { type SpeechChunk, SpeechError, type SynthesisOptions, type Synthesizer } from '../speech.ts';
import { AudioLimit } from './audio-limit.ts';
import type { Mp3Decoder } from './mp3-decoder.ts';
import { bearer, brokenRequest, OWN_SERVER, type OwnServerDeps, refusalOf } from './own-server.ts';
import { type AudioReader, notSpeech, PcmReader, WavReader } from './pcm-reader.ts';

/** Longest wait for the first byte, and between bytes, ms. */
const STALL_MS = 5_000;
const OPENAI_MODEL = 'tts-1';
const OPENAI_VOICE = 'alloy';
/**
 * Least audio passed on at once, ms, except the last. Each piece costs its call some work, and a server may
 * send single samples.
 */
const LEAST_PIECE_MS = 20;
/** Samples of a decoded MP3 passed on at once: a quarter of a second. */
const PIECE_SAMPLES = 4_000;

const PLAYED = 'audio/wav, audio/l16, audio/pcm or audio/mpeg';

/** A shared instance: a stack trace would be the most expensive part of aborting a piece. */
const LEFT = new Error('the speech is no longer wanted');

/** What a voice on an owner's server needs. */
export interface HttpVoiceDeps extends OwnServerDeps {
  readonly mp3: Mp3Decoder;
}

/** Creates the voice of one agent. Voice and emotion of the request do not apply to it. */
export function createHttpVoice(id: string, own: PlannedVoice, deps: HttpVoiceDeps): Synthesizer {
  return { id, voices: [], synthesise: (text, synthesis) => speak(text, synthesis, { id, own, deps }) };
}

interface Speech {
  /** Of the engine. */
  readonly id: string;
  readonly own: PlannedVoice;
  readonly deps: HttpVoiceDeps;
}

async function* speak(
  text: string,
  synthesis: SynthesisOptions,
  { id, own, deps }: Speech,
): AsyncGenerator<SpeechChunk> {
  synthesis.signal.throwIfAborted();
  if (text.trim() === '') return;
  const limit = new AudioLimit(text);
  const progress = new Progress(deps.clock, limit.longestMs);
  const { signal } = synthesis;
  try {
    const response = await post(requestOf(own, text, synthesis), {
      own,
      egress: deps.egress,
      signal: AbortSignal.any([signal, progress.signal]),
    });
    const reader = readerOf(response.headers.get('content-type'), own);
    const body = progress.read(response);
    if (reader === 'mp3') yield* decoded(await limit.wholeMp3(body), { id, signal, limit, mp3: deps.mp3 });
    else yield* played(body, { reader, limit, signal });
    limit.end();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw progress.signal.aborted ? progress.signal.reason : brokenRequest(error);
  } finally {
    progress.end();
  }
}

async function post(
  body: object,
  {
    own,
    egress,
    signal,
  }: {
    readonly own: PlannedVoice;
    readonly egress: HttpVoiceDeps['egress'];
    readonly signal: AbortSignal;
  },
): Promise<Answer> {
  const response = await egress.fetch(addressOf(own), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'audio/wav, audio/l16, audio/pcm, audio/mpeg;q=0.5',
      ...bearer(own.api_key),
    },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw refusalOf(response.status);
  return response;
}

type Answer = Awaited<ReturnType<HttpVoiceDeps['egress']['fetch']>>;

/** Ends a request that makes no progress, or too little. */
class Progress {
  readonly #clock: Clock;
  readonly #stalled = new AbortController();
  readonly #end: Timer;
  #timer: Timer;

  /** `longestMs`: of the whole request. */
  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock;
    this.#end = this.#after(longestMs, `was not done within ${longestMs} ms`);
    this.#timer = this.#arm();
  }

  get signal(): AbortSignal {
    return this.#stalled.signal;
  }

  /** The bytes of an answer as they arrive. A pause of their reader is none of the server. */
  async *read({ body }: Answer): AsyncGenerator<Uint8Array> {
    if (body === null) return;
    for await (const bytes of body as AsyncIterable<Uint8Array>) {
      this.#timer.cancel();
      yield bytes;
      this.#timer = this.#arm();
    }
    this.#timer.cancel();
  }

  /** Leaving in the middle ends the request. */
  end(): void {
    this.#end.cancel();
    this.#timer.cancel();
    this.#stalled.abort(LEFT);
  }

  #arm(): Timer {
    return this.#after(STALL_MS, `sent nothing for ${STALL_MS} ms`);
  }

  #after(ms: number, what: string): Timer {
    return this.#clock.after(ms, () =>
      this.#stalled.abort(new SpeechError('stalled', `${OWN_SERVER} ${what}`)),
    );
  }
}

async function* played(
  body: AsyncIterable<Uint8Array>,
  {
    reader,
    limit,
    signal,
  }: { readonly reader: AudioReader; readonly limit: AudioLimit; readonly signal: AbortSignal },
): AsyncGenerator<SpeechChunk> {
  let waiting: Int16Array[] = [];
  let count = 0;
  let rateHz = 0;
  for await (const bytes of body) {
    const { samples, sampleRateHz } = reader.read(bytes);
    if (samples.length > 0) waiting.push(samples);
    count += samples.length;
    rateHz = sampleRateHz;
    if (count > 0 && count * 1_000 >= LEAST_PIECE_MS * rateHz) {
      yield limit.add({ samples: joined(waiting, count), sampleRateHz });
      waiting = [];
      count = 0;
    }
    // What has arrived already must not be played after an interruption.
    signal.throwIfAborted();
    if (reader.isDone) break;
  }
  if (count > 0) yield limit.add({ samples: joined(waiting, count), sampleRateHz: rateHz });
}

function joined(pieces: readonly Int16Array[], count: number): Int16Array {
  const [first] = pieces;
  if (first?.length === count) return first;
  const all = new Int16Array(count);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

interface Mp3Deps {
  /** Of the engine. */
  readonly id: string;
  readonly mp3: Mp3Decoder;
  readonly limit: AudioLimit;
  readonly signal: AbortSignal;
}

async function* decoded(
  file: readonly Uint8Array[],
  { id, mp3, limit, signal }: Mp3Deps,
): AsyncGenerator<SpeechChunk> {
  if (file.length === 0) return;
  const { samples, sampleRateHz } = await mp3.decode(file, {
    owner: id,
    signal,
    longestSeconds: Math.ceil(limit.longestMs / 1_000),
  });
  for (let at = 0; at < samples.length; at += PIECE_SAMPLES) {
    signal.throwIfAborted();
    yield limit.add({ samples: samples.subarray(at, at + PIECE_SAMPLES), sampleRateHz });
  }
}

function addressOf({ protocol, url }: PlannedVoice): string {
  return protocol === 'openai' ? `${url}/audio/speech` : url;
}

function requestOf(own: PlannedVoice, text: string, synthesis: SynthesisOptions): object {
  if (own.protocol === 'openai')
    return {
      model: own.model || OPENAI_MODEL,
      input: text,
      voice: own.voice || OPENAI_VOICE,
      response_format: 'pcm',
      speed: synthesis.speed,
    };
  return {
    language: own.language || synthesis.language,
    voice: own.voice,
    ...(own.model === '' ? {} : { model: own.model }),
    type: 'text',
    text,
  };
}

/** By the content type. Throws `SpeechError` for one that is not audio of a kind that is read here. */
function readerOf(contentType: string | null, own: PlannedVoice): AudioReader | 'mp3' {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const parameter = (name: string) =>
    parameters.map((each) => each.trim().split('=')).find(([found]) => found === name)?.[1];
  const channels = Number(parameter('channels') ?? 1);
  switch (type.trim()) {
    case 'audio/wav':
    case 'audio/wave':
    case 'audio/x-wav':
    case 'audio/vnd.wave':
      return new WavReader();
    case 'audio/l16':
      return new PcmReader({ sampleRateHz: Number(parameter('rate') ?? 8_000), channels });
    case 'audio/pcm':
    case 'application/octet-stream':
      return new PcmReader({ sampleRateHz: Number(parameter('rate') ?? own.sample_rate_hz), channels });
    case 'audio/mpeg':
    case 'audio/mp3':
      return 'mp3';
    default:
      throw notSpeech(`“${type.trim().slice(0, 100)}” instead of ${PLAYED}`);
  }
}

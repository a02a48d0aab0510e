/**
 * Speaks segments of text as one stream of encoded audio: splits, synthesises, levels, resamples and encodes,
 * a second at a time.
 */
import { RateConverter } from '../../dsp/pcm.ts';
import type { SpeechChunk, Synthesizer } from '../speech.ts';
import { cutSentences } from '../text/sentences.ts';
import { type AudioEncoder, createAudioEncoder } from './audio-encoder.ts';
import type { FairScheduler, WorkOwner } from './fair-scheduler.ts';
import { Loudness } from './loudness.ts';
import type { AudioPiece, Segment, SpeakOptions, TimedText } from './speech-jobs.ts';

/** How to speak, for which account, and the scheduler of the thread. */
export interface SpeakTerms {
  readonly options: SpeakOptions;
  /** As it is now. */
  owner(): WorkOwner;
  readonly scheduler: FairScheduler;
  readonly signal: AbortSignal;
}

/**
 * Speaks with the engine of each segment's voice; throws `SpeechError`, or the signal's reason as soon as it
 * is aborted.
 */
export async function* speak(
  synthesizerFor: (voiceId: string) => Synthesizer,
  segments: AsyncIterable<Segment>,
  terms: SpeakTerms,
): AsyncGenerator<AudioPiece> {
  const { options, signal } = terms;
  const { account } = terms.owner();
  const line = new Line(await createAudioEncoder(options.output), terms);
  let isFirst = true;
  for await (const { text, voiceId } of segments) {
    const engine = synthesizerFor(voiceId ?? '');
    for (const words of cutForEngine(text, options, isFirst)) {
      isFirst = false;
      line.begin(words);
      const asked = {
        voiceId: null,
        language: options.language,
        speed: options.speed,
        sampleRateHz: options.output.sampleRateHz,
        account,
        signal,
      };
      for await (const chunk of engine.synthesise(words, asked)) {
        yield* line.take(chunk);
      }
    }
  }
  yield line.finish();
}

/**
 * Splits text for an engine: whole sentences, together at most `chunkLength` characters (a longer sentence
 * stays whole). For a quick start the first part is one sentence, or its first clause.
 */
export function cutForEngine(
  text: string,
  options: Pick<SpeakOptions, 'chunkLength' | 'latency'>,
  isFirst: boolean,
): string[] {
  const sentences = cutSentences(text).map(({ start, end }) => text.slice(start, end));
  const chunks: string[] = [];
  if (isFirst && options.latency !== 'normal') {
    const first = sentences.shift();
    if (first !== undefined) chunks.push(...(options.latency === 'low' ? splitClause(first) : [first]));
  }
  let gathered = '';
  for (const sentence of sentences) {
    if (gathered !== '' && gathered.length + 1 + sentence.length > options.chunkLength) {
      chunks.push(gathered);
      gathered = '';
    }
    gathered = gathered === '' ? sentence : `${gathered} ${sentence}`;
  }
  if (gathered !== '') chunks.push(gathered);
  return chunks;
}

/** A shorter clause sounds cut off. */
const MIN_CLAUSE_CHARS = 12;

function splitClause(sentence: string): string[] {
  const comma = sentence.indexOf(', ', MIN_CLAUSE_CHARS - 1);
  return comma === -1 ? [sentence] : [sentence.slice(0, comma + 1), sentence.slice(comma + 2)];
}

/** Converts an engine's chunks to pieces of the encoded stream. */
class Line {
  readonly #encoder: AudioEncoder;
  readonly #terms: SpeakTerms;
  readonly #rateHz: number;
  readonly #loudness: Loudness;
  readonly #converter: RateConverter;
  #seq = -1;
  #text = '';
  #words: TimedText[] | null = null;
  #samplesBefore = 0;
  #samples = 0;

  constructor(encoder: AudioEncoder, terms: SpeakTerms) {
    const { options } = terms;
    this.#encoder = encoder;
    this.#terms = terms;
    this.#rateHz = options.output.sampleRateHz;
    this.#loudness = new Loudness(options.volumeDb, options.normalizeLoudness);
    this.#converter = new RateConverter(options.output.sampleRateHz);
  }

  begin(text: string): void {
    this.#seq++;
    this.#text = text;
    this.#words = null;
    this.#samplesBefore += this.#samples;
    this.#samples = 0;
  }

  async *take(chunk: SpeechChunk): AsyncGenerator<AudioPiece> {
    for (const { textStart, textEnd, startMs, endMs } of chunk.words ?? []) {
      this.#words ??= [];
      this.#words.push({
        text: this.#text.slice(textStart, textEnd),
        start: startMs / 1_000,
        end: endMs / 1_000,
      });
    }
    this.#loudness.hear(chunk.samples, chunk.sampleRateHz);
    const { owner, scheduler, signal } = this.#terms;
    // A thread serves many streams: none may occupy it for longer than a second of audio takes.
    for (let at = 0; at < chunk.samples.length; at += chunk.sampleRateHz) {
      const block = chunk.samples.subarray(at, at + chunk.sampleRateHz);
      yield await scheduler.run(owner(), block.length / chunk.sampleRateHz, () => {
        signal.throwIfAborted();
        const samples = this.#converter.convert(this.#loudness.level(block), chunk.sampleRateHz);
        this.#samples += samples.length;
        return this.#piece(this.#encoder.encode(samples), samples.length);
      });
    }
  }

  finish(): AudioPiece {
    return this.#piece(this.#encoder.finish(), 0);
  }

  #piece(bytes: Uint8Array, samples: number): AudioPiece {
    const [offsetSeconds, seconds] = [this.#samplesBefore / this.#rateHz, this.#samples / this.#rateHz];
    const chunk = {
      seq: Math.max(0, this.#seq),
      text: this.#text,
      offsetSeconds,
      seconds,
      words: this.#words,
    };
    return { bytes, durationMs: (samples * 1_000) / this.#rateHz, chunk };
  }
}

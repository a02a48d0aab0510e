/**
 * A cache of synthesised texts that are the same in every call (a greeting, a hold line): later calls play
 * them at once. Only completed texts are kept, by engine and voice, at the sample rate of their call.
 */
import type { Clock } from '#base/clock.ts';
import { RateConverter } from '../dsp/pcm.ts';
import type { SpeechChunk, SynthesisOptions, Synthesizer } from './speech.ts';

/** Most audio kept; beyond it the least recently used is dropped. */
const MAX_TOTAL_BYTES = 32 * 2 ** 20;
/** A longer phrase is not kept: twenty seconds at the highest rate. */
const MAX_PHRASE_BYTES = 2 * 2 ** 20;
/** Longest time for which a phrase is kept, ms: its voice may be changed or deleted at the vendor. */
const KEPT_MS = 3_600_000;

interface Phrase {
  readonly chunks: readonly SpeechChunk[];
  readonly bytes: number;
  readonly madeMs: number;
}

/** The cached phrases of one process. */
export class PhraseCache {
  readonly #clock: Clock;
  /** Least recently used first. */
  readonly #phrases = new Map<string, Phrase>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wraps an engine so that a fixed text is synthesised once. Cached chunks have the requested rate. */
  of(engine: Synthesizer): Synthesizer {
    return {
      ...engine,
      synthesise: (text, options) =>
        options.isFixed === true ? this.#say(engine, text, options) : engine.synthesise(text, options),
    };
  }

  async *#say(engine: Synthesizer, text: string, options: SynthesisOptions): AsyncGenerator<SpeechChunk> {
    const { signal, sampleRateHz } = options;
    const key = keyOf(engine, text, options);
    const kept = this.#find(key);
    if (kept) {
      for (const chunk of kept.chunks) {
        signal.throwIfAborted();
        yield chunk;
      }
      return;
    }
    const converter = new RateConverter(sampleRateHz);
    const said: SpeechChunk[] = [];
    for await (const { samples, sampleRateHz: madeHz, words } of engine.synthesise(text, options)) {
      const chunk = { samples: converter.convert(samples, madeHz), sampleRateHz, words };
      said.push({ ...chunk, isKept: true });
      yield chunk;
    }
    if (!signal.aborted) this.#keep(key, said);
  }

  #find(key: string): Phrase | undefined {
    const phrase = this.#phrases.get(key);
    if (!phrase) return undefined;
    const isExpired = this.#clock.now() - phrase.madeMs >= KEPT_MS;
    this.#forget(key, phrase);
    if (isExpired) return undefined;
    this.#remember(key, phrase);
    return phrase;
  }

  #keep(key: string, chunks: readonly SpeechChunk[]): void {
    const bytes = chunks.reduce((sum, { samples }) => sum + samples.byteLength, 0);
    if (bytes === 0 || bytes > MAX_PHRASE_BYTES) return;
    // Another call may have synthesised it at the same time.
    const before = this.#phrases.get(key);
    if (before) this.#forget(key, before);
    this.#remember(key, { chunks, bytes, madeMs: this.#clock.now() });
    for (const [oldest, phrase] of this.#phrases) {
      if (this.#bytes <= MAX_TOTAL_BYTES) return;
      this.#forget(oldest, phrase);
    }
  }

  #remember(key: string, phrase: Phrase): void {
    this.#phrases.set(key, phrase);
    this.#bytes += phrase.bytes;
  }

  #forget(key: string, { bytes }: Phrase): void {
    this.#phrases.delete(key);
    this.#bytes -= bytes;
  }
}

/** Everything that the sound of a voice depends on. */
function keyOf(
  { id }: Synthesizer,
  text: string,
  { voiceId, language, speed, emotion = null, sampleRateHz }: SynthesisOptions,
): string {
  return JSON.stringify([id, voiceId, language, speed, emotion, sampleRateHz, text]);
}

/**
 * Engines that stand in for each other in a call: one that failed is passed over by every call until it
 * serves again, and one that refused this call is not asked by it again. A connection that broke while it
 * worked is made anew first. A failure is final only when nobody is left to ask.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { EngineHealth } from './engine-health.ts';
import {
  type RecognitionEvent,
  type RecognitionOptions,
  type RecognitionStream,
  type Recognizer,
  type SpeechChunk,
  SpeechError,
  type SynthesisOptions,
  type Synthesizer,
} from './speech.ts';

/**
 * Longest wait for an engine's first audio while another one could speak, ms: callers hear no silence of four
 * seconds.
 */
const FIRST_AUDIO_MS = 2_500;
/** The same for one that stands in: the caller has waited for another one already. */
const STAND_IN_AUDIO_MS = 1_000;
/** What an engine is tried out with, which is passed over: a word, or a moment of silence. */
const TRIAL_TEXT = 'OK.';
const TRIAL_SILENCE_MS = 100;

/** What engines stand in for each other with. */
export interface FailOverOptions {
  readonly health: EngineHealth;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The engines a call may ask, in order of preference. */
class Candidates<Engine extends { readonly id: string }> {
  readonly #engines: readonly [Engine, ...Engine[]];
  readonly #options: FailOverOptions;
  readonly #refused = new Set<string>();

  constructor(engines: readonly [Engine, ...Engine[]], options: FailOverOptions) {
    this.#engines = engines;
    this.#options = options;
  }

  /**
   * The best one that is well, else the best one that has not refused; null when all have, or were tried
   * already.
   */
  next(tried: readonly Engine[] = []): Engine | null {
    const willing = this.#engines.filter(
      (engine) => !this.#refused.has(engine.id) && !tried.includes(engine),
    );
    return willing.find(({ id }) => this.#options.health.isWell(id)) ?? willing[0] ?? null;
  }

  /** Takes note of a failure; true when another engine, or this one later, may still serve. */
  failed({ id }: Engine, error: SpeechError): boolean {
    const { category, retryable } = error;
    if (error instanceof LateSpeech && id === this.#engines[0].id) this.#options.health.late(id);
    // What this call asks for may be refused while others are served.
    else if (category !== 'bad_request') this.#options.health.failed(id);
    // One with a fault of its own may be mended while the call lasts.
    if (!retryable && category !== 'unavailable') this.#refused.add(id);
    const next = this.next();
    if (next && next.id !== id)
      this.#options.logger.warn({ engine: id, category, next: next.id }, 'another speech engine takes over');
    return next !== null;
  }

  worked({ id }: Engine): void {
    this.#options.health.worked(id);
  }

  /** Has the ones tried out that are passed over for `chosen`. */
  tryOut(chosen: Engine, serves: (engine: Engine) => Promise<boolean>): void {
    for (const engine of this.#engines.slice(0, this.#engines.indexOf(chosen)))
      if (!this.#refused.has(engine.id)) this.#options.health.passedOver(engine.id, () => serves(engine));
  }
}

/** The first audio of a text came too late, while another engine could speak. */
class LateSpeech extends SpeechError {
  constructor(engineId: string, limitMs: number) {
    super('stalled', `${engineId} gave no audio within ${limitMs} ms`);
  }
}

/**
 * A recogniser for one call. Its stream fails as it would alone, but retryably while anybody is left: whoever
 * opens the next one gets the next engine, and gives it the audio again. A stream that had given words and
 * lost its connection is opened once more at the same engine.
 */
export function failOverRecognizer(
  engines: readonly [Recognizer, ...Recognizer[]],
  options: FailOverOptions,
): Recognizer {
  const candidates = new Candidates(engines, options);
  let again: Recognizer | null = null;
  const best = () => again ?? candidates.next() ?? engines[0];
  return {
    get id() {
      return best().id;
    },
    get givesInterims() {
      return best().givesInterims;
    },
    get expectedFinalMs() {
      return best().expectedFinalMs;
    },
    open(recognition: RecognitionOptions): RecognitionStream {
      const engine = best();
      again = null;
      candidates.tryOut(engine, (other) => settlesSilence(other, recognition, options.clock));
      let hasGivenWords = false;
      const onEvent = (event: RecognitionEvent) => {
        if (!hasGivenWords && (event.type === 'interim' || event.type === 'final')) {
          hasGivenWords = true;
          candidates.worked(engine);
        }
        if (event.type !== 'failed') return recognition.onEvent(event);
        const { category, message } = event.error;
        if (hasGivenWords && category === 'connectivity') again = engine;
        const retryable = again !== null || candidates.failed(engine, event.error);
        recognition.onEvent({
          type: 'failed',
          error: new SpeechError(category, message, { cause: event.error, retryable }),
        });
      };
      return engine.open({ ...recognition, onEvent });
    },
  };
}

/** Whether a recogniser answers for a moment of silence; words are not needed for that. */
function settlesSilence(engine: Recognizer, recognition: RecognitionOptions, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isServing: boolean) => {
      timer.cancel();
      stream.close();
      resolve(isServing);
    };
    const onEvent = ({ type }: RecognitionEvent) => {
      // Within `open` there is no stream to close yet.
      if (type === 'finalised' || type === 'failed') queueMicrotask(() => settle(type === 'finalised'));
    };
    const stream = engine.open({ ...recognition, onEvent });
    const timer = clock.after(FIRST_AUDIO_MS, () => settle(false));
    stream.write(new Int16Array((recognition.sampleRateHz * TRIAL_SILENCE_MS) / 1_000));
    stream.finalise();
  });
}

/**
 * A synthesiser for one call. A text whose first audio fails or is late is said by the next engine, in that
 * one's own voice for the language.
 */
export function failOverSynthesizer(
  engines: readonly [Synthesizer, ...Synthesizer[]],
  options: FailOverOptions,
): Synthesizer {
  const candidates = new Candidates(engines, options);
  const [first] = engines;

  /** The speech of the first engine that gives any. */
  async function begin(text: string, synthesis: SynthesisOptions, tried: readonly Synthesizer[] = []) {
    const engine = candidates.next(tried) ?? first;
    const asked = engine === first ? synthesis : { ...synthesis, voiceId: null };
    if (tried.length === 0)
      candidates.tryOut(engine, (other) => speaks(other, other === first ? synthesis : asked));
    // The last one may take its time: after it there is nobody.
    const limitMs = engine === first ? FIRST_AUDIO_MS : STAND_IN_AUDIO_MS;
    const chunks =
      engine === engines.at(-1)
        ? engine.synthesise(text, asked)
        : inTime(engine, text, asked, { clock: options.clock, limitMs });
    const speech = chunks[Symbol.asyncIterator]();
    try {
      const head = await speech.next();
      noteSpeech(engine, head);
      return { engine, speech, head };
    } catch (error) {
      noteFailure(engine, error, synthesis.signal);
      const nowTried = [...tried, engine];
      if (synthesis.signal.aborted || candidates.next(nowTried) === null) throw error;
      return begin(text, synthesis, nowTried);
    }
  }

  /** One word of it, which nobody hears. */
  async function speaks(engine: Synthesizer, asked: SynthesisOptions): Promise<boolean> {
    const { signal } = new AbortController();
    const speech = inTime(
      engine,
      TRIAL_TEXT,
      { ...asked, isFixed: false, signal },
      { clock: options.clock, limitMs: FIRST_AUDIO_MS },
    );
    const head = await speech.next();
    await speech.return(undefined);
    return !head.done;
  }

  /** What comes from memory tells nothing of the engine. */
  function noteSpeech(engine: Synthesizer, head: IteratorResult<SpeechChunk>): void {
    if (head.done || head.value.isKept !== true) candidates.worked(engine);
  }

  function noteFailure(engine: Synthesizer, error: unknown, signal: AbortSignal): void {
    if (error instanceof SpeechError && !signal.aborted) candidates.failed(engine, error);
  }

  return {
    id: first.id,
    voices: first.voices,
    ...(first.needsWords === undefined ? {} : { needsWords: first.needsWords }),
    prepare(outlook) {
      const engine = candidates.next() ?? first;
      engine.prepare?.(engine === first ? outlook : { ...outlook, voiceId: null });
    },
    async *synthesise(text, synthesis) {
      const { engine, speech, head } = await begin(text, synthesis);
      try {
        for (let step = head; !step.done; step = await speech.next()) yield step.value;
      } catch (error) {
        // What was heard cannot be taken back: the rest is the reply's to say again, by an engine that is
        // well.
        noteFailure(engine, error, synthesis.signal);
        throw error;
      } finally {
        await speech.return?.();
      }
    },
  };
}

/** Speaks, or fails as stalled when the first audio is late. */
async function* inTime(
  engine: Synthesizer,
  text: string,
  synthesis: SynthesisOptions,
  { clock, limitMs }: { readonly clock: Clock; readonly limitMs: number },
): AsyncGenerator<SpeechChunk> {
  const late = new AbortController();
  const timer = clock.after(limitMs, () => late.abort(new LateSpeech(engine.id, limitMs)));
  try {
    for await (const chunk of engine.synthesise(text, {
      ...synthesis,
      signal: AbortSignal.any([synthesis.signal, late.signal]),
    })) {
      timer.cancel();
      yield chunk;
    }
  } catch (error) {
    // However the engine words its being stopped.
    throw late.signal.aborted ? late.signal.reason : error;
  } finally {
    timer.cancel();
  }
}

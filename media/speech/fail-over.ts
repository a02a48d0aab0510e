/**
 * Engines that stand in for each other in a call: one that failed is passed over for a while by every call, and one that refused this call is not asked
 * by it again. A connection that broke while it worked is made anew first. A failure is final only when nobody is left to ask.
 */
import type { Clock } from '#config/clock.ts';
import type { Logger } from '#config/log.ts';
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

/** How long an engine that failed is passed over where another one can serve, ms. */
const PASSED_OVER_MS = 30_000;
/** Longest wait for an engine's first audio while another one could speak, ms: callers hear no silence of four seconds. */
const FIRST_AUDIO_MS = 2_500;
/** The same for one that stands in: the caller has waited for another one already. */
const STAND_IN_AUDIO_MS = 1_000;
/** How long one that was late is not asked first, ms: the line that is to bridge the wait must not wait for it too. */
const LATE_MS = 5_000;

/** Which engines of a process have failed lately; shared by its calls. */
export class EngineHealth {
  readonly #clock: Clock;
  readonly #failedAtMs = new Map<string, number>();
  readonly #lateAtMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isWell(engineId: string): boolean {
    const since = (atMs = Number.NEGATIVE_INFINITY) => this.#clock.now() - atMs;
    return since(this.#failedAtMs.get(engineId)) >= PASSED_OVER_MS && since(this.#lateAtMs.get(engineId)) >= LATE_MS;
  }

  failed(engineId: string): void {
    this.#failedAtMs.set(engineId, this.#clock.now());
  }

  /** Late once is a busy moment and costs one utterance its engine; late again soon is a failure. */
  late(engineId: string): void {
    const beforeMs = this.#lateAtMs.get(engineId);
    this.#lateAtMs.set(engineId, this.#clock.now());
    if (beforeMs !== undefined && this.#clock.now() - beforeMs < PASSED_OVER_MS) this.failed(engineId);
  }

  inTime(engineId: string): void {
    this.#lateAtMs.delete(engineId);
  }
}

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

  /** The best one that is well, else the best one that has not refused; null when all have, or were tried already. */
  next(tried: readonly Engine[] = []): Engine | null {
    const willing = this.#engines.filter((engine) => !this.#refused.has(engine.id) && !tried.includes(engine));
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
    if (next && next.id !== id) this.#options.logger.warn({ engine: id, category, next: next.id }, 'another speech engine takes over');
    return next !== null;
  }

  inTime({ id }: Engine): void {
    this.#options.health.inTime(id);
  }
}

/** The first audio of a text came too late, while another engine could speak. */
class LateSpeech extends SpeechError {
  constructor(engineId: string, limitMs: number) {
    super('stalled', `${engineId} gave no audio within ${limitMs} ms`);
  }
}

/**
 * A recogniser for one call. Its stream fails as it would alone, but retryably while anybody is left: whoever opens the next one gets the next engine, and
 * gives it the audio again. A stream that had given words and lost its connection is opened once more at the same engine.
 */
export function failOverRecognizer(engines: readonly [Recognizer, ...Recognizer[]], options: FailOverOptions): Recognizer {
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
      let hasGivenWords = false;
      const onEvent = (event: RecognitionEvent) => {
        hasGivenWords ||= event.type === 'interim' || event.type === 'final';
        if (event.type !== 'failed') return recognition.onEvent(event);
        const { category, message } = event.error;
        if (hasGivenWords && category === 'connectivity') again = engine;
        const retryable = again !== null || candidates.failed(engine, event.error);
        recognition.onEvent({ type: 'failed', error: new SpeechError(category, message, { cause: event.error, retryable }) });
      };
      return engine.open({ ...recognition, onEvent });
    },
  };
}

/** A synthesiser for one call. A text whose first audio fails or is late is said by the next engine, in that one's own voice for the language. */
export function failOverSynthesizer(engines: readonly [Synthesizer, ...Synthesizer[]], options: FailOverOptions): Synthesizer {
  const candidates = new Candidates(engines, options);
  const [first] = engines;

  /** The speech of the first engine that gives any. */
  async function begin(text: string, synthesis: SynthesisOptions, tried: readonly Synthesizer[] = []) {
    const engine = candidates.next(tried) ?? first;
    const asked = engine === first ? synthesis : { ...synthesis, voiceId: null };
    // The last one may take its time: after it there is nobody.
    const limitMs = engine === first ? FIRST_AUDIO_MS : STAND_IN_AUDIO_MS;
    const chunks = engine === engines.at(-1) ? engine.synthesise(text, asked) : inTime(engine, text, asked, { clock: options.clock, limitMs });
    const speech = chunks[Symbol.asyncIterator]();
    try {
      const head = await speech.next();
      candidates.inTime(engine);
      return { engine, speech, head };
    } catch (error) {
      noteFailure(engine, error, synthesis.signal);
      const nowTried = [...tried, engine];
      if (synthesis.signal.aborted || candidates.next(nowTried) === null) throw error;
      return begin(text, synthesis, nowTried);
    }
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
        // What was heard cannot be taken back: the rest is the reply's to say again, by an engine that is well.
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
    for await (const chunk of engine.synthesise(text, { ...synthesis, signal: AbortSignal.any([synthesis.signal, late.signal]) })) {
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

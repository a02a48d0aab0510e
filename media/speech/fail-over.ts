/**
 * Engines that replace each other within a call. A failed engine is skipped by every call until it works
 * again; an engine that refused this call is not used by it again. A broken connection is first
 * re-established. A failure is final only if no engine is left.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { NO_VENDOR_METERS, type VendorMeters, type VendorService } from '#config/vendor-meters.ts';
import type { EngineHealth } from './engine-health.ts';
import { openMeasured } from './measured-recognizer.ts';
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
 * Longest wait for an engine's first audio if another could speak, ms: callers must not hear four seconds of
 * silence.
 */
const FIRST_AUDIO_MS = 2_500;
/** The same for a fallback: the caller has already waited for another engine. */
const FALLBACK_FIRST_AUDIO_MS = 1_000;
/** Probe of a skipped engine: a word, or a moment of silence. */
const PROBE_TEXT = 'OK.';
const PROBE_SILENCE_MS = 100;

/** What failover between engines needs. */
export interface FailOverOptions {
  readonly health: EngineHealth;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent: requests are not measured. */
  readonly vendors?: VendorMeters | undefined;
}

/** The engines a call may use, in order of preference. */
class Candidates<Engine extends { readonly id: string }> {
  readonly #service: VendorService;
  readonly #engines: readonly [Engine, ...Engine[]];
  readonly #options: FailOverOptions;
  readonly #refused = new Set<string>();

  constructor(service: VendorService, engines: readonly [Engine, ...Engine[]], options: FailOverOptions) {
    this.#service = service;
    this.#engines = engines;
    this.#options = options;
  }

  /**
   * The best healthy engine, or else the best that has not refused; null if all have refused or were tried.
   */
  next(tried: readonly Engine[] = []): Engine | null {
    const willing = this.#engines.filter(
      (engine) => !this.#refused.has(engine.id) && !tried.includes(engine),
    );
    return willing.find(({ id }) => this.#options.health.isWell(id)) ?? willing[0] ?? null;
  }

  /** Records a failure; true if another engine, or this one later, may still serve. */
  failed({ id }: Engine, error: SpeechError): boolean {
    const { category, retryable } = error;
    if (error instanceof LateSpeech && id === this.#engines[0].id) this.#options.health.late(id);
    // An engine may refuse this call's request and serve others.
    else if (category !== 'bad_request') this.#options.health.failed(id);
    // One with a fault of its own may recover during the call.
    if (!retryable && category !== 'unavailable') this.#refused.add(id);
    const next = this.next();
    if (next && next.id !== id) {
      this.#options.vendors?.failedOver(this.#service, id);
      this.#options.logger.warn(
        { engine: id, category, next: next.id },
        'a speech engine failed; the next one is used',
      );
    }
    return next !== null;
  }

  worked({ id }: Engine): void {
    this.#options.health.worked(id);
  }

  /** Probes the engines that were skipped in favour of `chosen`. */
  probeSkipped(chosen: Engine, serves: (engine: Engine) => Promise<boolean>): void {
    for (const engine of this.#engines.slice(0, this.#engines.indexOf(chosen)))
      if (!this.#refused.has(engine.id)) this.#options.health.skipped(engine.id, () => serves(engine));
  }
}

/** The first audio of a text came too late although another engine could speak. */
class LateSpeech extends SpeechError {
  constructor(engineId: string, limitMs: number) {
    super('stalled', `${engineId} gave no audio within ${limitMs} ms`);
  }
}

/**
 * The recogniser of one call. Its stream fails as that of a single engine would, but retryably while another
 * engine is left: the next stream opened uses the next engine and gets the audio again. A stream that had
 * returned words and lost its connection is first reopened at the same engine.
 */
export function failOverRecognizer(
  engines: readonly [Recognizer, ...Recognizer[]],
  options: FailOverOptions,
): Recognizer {
  const candidates = new Candidates('recognition', engines, options);
  const { clock, vendors = NO_VENDOR_METERS } = options;
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
      candidates.probeSkipped(engine, (other) => settlesSilence(other, recognition, clock));
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
      return openMeasured(engine, { ...recognition, onEvent }, { vendors, clock });
    },
  };
}

/** Whether a recogniser answers to a moment of silence; it need not return words. */
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
    stream.write(new Int16Array((recognition.sampleRateHz * PROBE_SILENCE_MS) / 1_000));
    stream.finalise();
  });
}

/**
 * The synthesiser of one call. If the first audio of a text fails or is late, the next engine says it, in its
 * own voice for the language.
 */
export function failOverSynthesizer(
  engines: readonly [Synthesizer, ...Synthesizer[]],
  options: FailOverOptions,
): Synthesizer {
  const candidates = new Candidates('synthesis', engines, options);
  const { clock, vendors = NO_VENDOR_METERS } = options;
  const [first] = engines;

  /** The speech of the first engine that returns any. */
  async function begin(text: string, synthesis: SynthesisOptions, tried: readonly Synthesizer[] = []) {
    const engine = candidates.next(tried) ?? first;
    const asked = engine === first ? synthesis : { ...synthesis, voiceId: null };
    if (tried.length === 0)
      candidates.probeSkipped(engine, (other) => speaks(other, other === first ? synthesis : asked));
    // The last engine has no limit: there is no other.
    const limitMs = engine === first ? FIRST_AUDIO_MS : FALLBACK_FIRST_AUDIO_MS;
    const chunks =
      engine === engines.at(-1)
        ? engine.synthesise(text, asked)
        : inTime(engine, text, asked, { clock, limitMs });
    synthesis.onEngine?.(engine.id);
    const startMs = clock.now();
    const speech = chunks[Symbol.asyncIterator]();
    try {
      const head = await speech.next();
      noteSpeech(engine, head, clock.now() - startMs);
      return { engine, speech, head };
    } catch (error) {
      noteFailure(engine, error, synthesis.signal);
      const nowTried = [...tried, engine];
      if (synthesis.signal.aborted || candidates.next(nowTried) === null) throw error;
      return begin(text, synthesis, nowTried);
    }
  }

  /** One word, which no caller hears. */
  async function speaks(engine: Synthesizer, asked: SynthesisOptions): Promise<boolean> {
    const { signal } = new AbortController();
    const speech = inTime(
      engine,
      PROBE_TEXT,
      { ...asked, isFixed: false, signal },
      { clock, limitMs: FIRST_AUDIO_MS },
    );
    const head = await speech.next();
    await speech.return(undefined);
    return !head.done;
  }

  /** Cached audio says nothing about the engine. */
  function noteSpeech(engine: Synthesizer, head: IteratorResult<SpeechChunk>, afterMs: number): void {
    if (!head.done && head.value.isKept === true) return;
    candidates.worked(engine);
    vendors.began('synthesis', engine.id, afterMs);
  }

  function noteFailure(engine: Synthesizer, error: unknown, signal: AbortSignal): void {
    if (signal.aborted) vendors.failed('synthesis', engine.id, 'abandoned');
    else if (error instanceof SpeechError) {
      vendors.failed('synthesis', engine.id, error.category);
      candidates.failed(engine, error);
    }
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
        // Played audio cannot be taken back: the reply repeats the rest with a healthy engine.
        noteFailure(engine, error, synthesis.signal);
        throw error;
      } finally {
        await speech.return?.();
      }
    },
  };
}

/** Speaks; fails as stalled if the first audio is late. */
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
    // However the engine reports being stopped.
    throw late.signal.aborted ? late.signal.reason : error;
  } finally {
    timer.cancel();
  }
}

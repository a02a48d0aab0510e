/**
 * Recognition for engines that take one utterance at a time: detects utterances by energy, transcribes them
 * one after the other, and answers `finalise` once everything before it is settled. Silence is never sent,
 * because engines invent words for it.
 */
import type { Clock } from '#base/clock.ts';
import { SampleBlocks } from './audio/sample-blocks.ts';
import { type RecognitionOptions, type RecognitionStream, SpeechError } from './speech.ts';

/**
 * Transcribes one utterance of mono samples; resolves with '' if nothing was understood; rejects with
 * `SpeechError`, or at once if aborted.
 */
type Transcribe = (samples: Int16Array, signal: AbortSignal) => Promise<string>;

/** Options of an utterance stream. */
export interface UtteranceStreamOptions {
  readonly recognition: RecognitionOptions;
  readonly transcribe: Transcribe;
  readonly clock: Clock;
  /** Longest wait for the text of an utterance before the stream fails as `stalled`, ms. */
  readonly deadlineMs: number;
  /**
   * The engine knows whole phrases only and does not understand halves cut by a pause: an utterance without a
   * result is tried again together with the next.
   */
  readonly knowsPhrasesOnly?: boolean;
}

const FRAME_MS = 20;
/** Kept before the first loud frame: soft consonants begin earlier. */
const PRE_ROLL_FRAMES = 15;
/** Kept after the last loud frame; in longer noise engines recognise words. */
const POST_ROLL_FRAMES = 15;
/** Fewer loud frames are a click. */
const MIN_LOUD_FRAMES = 3;
/** Silence that ends an utterance by itself; longer than any endpointing wait. */
const TRAILING_SILENCE_FRAMES = 60;
const MAX_UTTERANCE_FRAMES = 1_500;
/** A phrase including pauses; longer combinations are not one phrase. */
const MAX_PHRASE_MS = 8_000;
/** About −48 dBFS: below it nothing is speech. */
const MIN_RMS = 130;
const SPEECH_TO_FLOOR = 3;

interface Utterance {
  readonly samples: Int16Array;
  readonly startMs: number;
  readonly endMs: number;
}

/** Opens a stream over `transcribe`. */
export function openUtteranceStream(options: UtteranceStreamOptions): RecognitionStream {
  const { recognition, clock, knowsPhrasesOnly = false } = options;
  const deadlineMs = recognition.deadlineMs ?? options.deadlineMs;
  const cutter = new UtteranceCutter(recognition.sampleRateHz);
  const closing = new AbortController();
  let settled: Promise<void> = Promise.resolve();
  let unheard: Utterance | null = null;

  const enqueue = (work: () => Promise<void>) => {
    settled = settled.then(() => (closing.signal.aborted ? undefined : work())).catch(fail);
  };
  function fail(error: unknown) {
    if (closing.signal.aborted) return;
    closing.abort();
    const speechError =
      error instanceof SpeechError
        ? error
        : new SpeechError('unavailable', 'Recognition failed', { cause: error });
    recognition.onEvent({ type: 'failed', error: speechError });
  }
  const textOf = ({ samples }: Utterance) =>
    withDeadline((signal) => options.transcribe(samples, signal), {
      clock,
      deadlineMs,
      signal: closing.signal,
    });
  async function recognise(said: Utterance) {
    let heard = said;
    let text = await textOf(said);
    // First alone: a noise before a phrase must not spoil it. Measured after a noise, 41 of 47 phrases were
    // right instead of 29.
    if (text === '' && unheard !== null && areOnePhrase(unheard, said)) {
      heard = { samples: join([unheard.samples, said.samples]), startMs: unheard.startMs, endMs: said.endMs };
      text = await textOf(heard);
    }
    unheard = knowsPhrasesOnly && text === '' ? heard : null;
    const { startMs, endMs } = heard;
    if (text !== '' && !closing.signal.aborted)
      recognition.onEvent({ type: 'final', text, startMs, endMs, language: null });
  }

  return {
    write(samples) {
      if (closing.signal.aborted) return;
      for (const utterance of cutter.write(samples)) enqueue(() => recognise(utterance));
    },
    finalise() {
      const rest = cutter.flush();
      if (rest) enqueue(() => recognise(rest));
      enqueue(async () => recognition.onEvent({ type: 'finalised' }));
    },
    close: () => closing.abort(),
  };
}

/** The pause between them is too short to end an utterance. */
function areOnePhrase(before: Utterance, after: Utterance): boolean {
  return (
    after.startMs - before.endMs < TRAILING_SILENCE_FRAMES * FRAME_MS &&
    after.endMs - before.startMs < MAX_PHRASE_MS
  );
}

/** Runs `work` with a deadline; late work is aborted and fails as `stalled`. */
async function withDeadline<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { clock, deadlineMs, signal }: { clock: Clock; deadlineMs: number; signal: AbortSignal },
): Promise<T> {
  const late = new AbortController();
  const timer = clock.after(deadlineMs, () =>
    late.abort(new SpeechError('stalled', `No transcript within ${deadlineMs} ms`)),
  );
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } catch (error) {
    throw late.signal.aborted ? late.signal.reason : error;
  } finally {
    timer.cancel();
  }
}

/** Cuts samples into utterances by frame energy over a tracked noise floor. */
class UtteranceCutter {
  readonly #blocks: SampleBlocks;
  #frameCount = 0;
  #frames: Int16Array[] = [];
  #loudFrames = 0;
  #quietFrames = 0;
  #floor = MIN_RMS;

  constructor(rateHz: number) {
    this.#blocks = new SampleBlocks((rateHz * FRAME_MS) / 1_000);
  }

  /** Takes samples; returns the utterances they end. */
  write(samples: Int16Array): Utterance[] {
    const ended: Utterance[] = [];
    this.#blocks.write(samples, (frame) => {
      const utterance = this.#take(frame.slice());
      if (utterance) ended.push(utterance);
    });
    return ended;
  }

  /** Ends the current utterance, if there is speech in it. */
  flush(): Utterance | null {
    if (this.#loudFrames < MIN_LOUD_FRAMES) return null;
    const startMs = (this.#frameCount - this.#frames.length) * FRAME_MS;
    const kept = this.#frames.slice(
      0,
      this.#frames.length - Math.max(0, this.#quietFrames - POST_ROLL_FRAMES),
    );
    const utterance = { samples: join(kept), startMs, endMs: startMs + kept.length * FRAME_MS };
    this.#frames = [];
    this.#loudFrames = 0;
    this.#quietFrames = 0;
    return utterance;
  }

  #take(frame: Int16Array): Utterance | null {
    this.#frameCount++;
    this.#frames.push(frame);
    const level = rms(frame);
    const isLoud = level > Math.max(MIN_RMS, SPEECH_TO_FLOOR * this.#floor);
    // The floor falls fast and rises slowly, so that speech does not raise it.
    this.#floor += (level - this.#floor) * (level < this.#floor ? 0.2 : isLoud ? 0.0005 : 0.02);
    this.#loudFrames += isLoud ? 1 : 0;
    this.#quietFrames = isLoud ? 0 : this.#quietFrames + 1;
    if (this.#quietFrames >= TRAILING_SILENCE_FRAMES || this.#frames.length >= MAX_UTTERANCE_FRAMES) {
      const utterance = this.flush();
      if (utterance) return utterance;
    }
    if (this.#loudFrames < MIN_LOUD_FRAMES && this.#quietFrames > PRE_ROLL_FRAMES) {
      this.#loudFrames = 0;
      this.#frames = this.#frames.slice(-PRE_ROLL_FRAMES);
    }
    return null;
  }
}

function rms(samples: Int16Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return Math.sqrt(sum / samples.length);
}

function join(frames: readonly Int16Array[]): Int16Array {
  const joined = new Int16Array(frames.reduce((sum, frame) => sum + frame.length, 0));
  let position = 0;
  for (const frame of frames) {
    joined.set(frame, position);
    position += frame.length;
  }
  return joined;
}

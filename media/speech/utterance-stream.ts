/**
 * Recognition for engines that want a whole utterance at a time: finds utterances by their energy, has them
 * transcribed one after the other, and answers `finalise` once everything written before it is settled.
 * Silence is never sent: engines invent words for it.
 */
import type { Clock } from '#base/clock.ts';
import { SampleBlocks } from './sample-blocks.ts';
import { type RecognitionOptions, type RecognitionStream, SpeechError } from './speech.ts';

/**
 * Transcribes one utterance of mono samples; resolves with '' when nothing was understood, rejects with
 * `SpeechError`, or at once when aborted.
 */
type Transcribe = (samples: Int16Array, signal: AbortSignal) => Promise<string>;

/** What a stream of utterances is made of. */
export interface UtteranceStreamOptions {
  readonly recognition: RecognitionOptions;
  readonly transcribe: Transcribe;
  readonly clock: Clock;
  /** Longest wait for one utterance's text before the stream fails as `stalled`, ms. */
  readonly deadlineMs: number;
  /**
   * The engine knows whole phrases only, and understands neither half of one that a pause has cut in two:
   * what it made nothing of is heard once more together with what follows soon.
   */
  readonly knowsPhrasesOnly?: boolean;
}

const FRAME_MS = 20;
/** Kept in front of the first loud frame: soft consonants begin before it. */
const PRE_ROLL_FRAMES = 15;
/** Kept behind the last loud frame; engines hear words in the noise of a longer rest. */
const POST_ROLL_FRAMES = 15;
/** Fewer loud frames than this are a click. */
const LEAST_LOUD_FRAMES = 3;
/** Silence that ends an utterance when nobody asks for it; longer than any endpointing wait. */
const TRAILING_SILENCE_FRAMES = 60;
const LONGEST_UTTERANCE_FRAMES = 1_500;
/** A phrase with its pauses: parts that are longer together are none. */
const LONGEST_PHRASE_MS = 8_000;
/** About -48 dBFS: below it nothing is speech. */
const LEAST_RMS = 130;
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
    const known =
      error instanceof SpeechError
        ? error
        : new SpeechError('unavailable', 'Recognition failed', { cause: error });
    recognition.onEvent({ type: 'failed', error: known });
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
    // Alone first: a noise before a phrase must not spoil it (tried: 41 of 47 phrases behind one right,
    // against 29).
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

/** The pause between them is none that ends an utterance. */
function areOnePhrase(before: Utterance, after: Utterance): boolean {
  return (
    after.startMs - before.endMs < TRAILING_SILENCE_FRAMES * FRAME_MS &&
    after.endMs - before.startMs < LONGEST_PHRASE_MS
  );
}

/** Runs `work` under a deadline; a late one is aborted and is a `stalled` failure. */
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

/** Cuts a stream of samples into utterances by frame energy over a tracked noise floor. */
class UtteranceCutter {
  readonly #blocks: SampleBlocks;
  #frameCount = 0;
  #frames: Int16Array[] = [];
  #loudFrames = 0;
  #quietFrames = 0;
  #floor = LEAST_RMS;

  constructor(rateHz: number) {
    this.#blocks = new SampleBlocks((rateHz * FRAME_MS) / 1_000);
  }

  /** Takes samples; returns the utterances they ended. */
  write(samples: Int16Array): Utterance[] {
    const ended: Utterance[] = [];
    this.#blocks.write(samples, (frame) => {
      const utterance = this.#take(frame.slice());
      if (utterance) ended.push(utterance);
    });
    return ended;
  }

  /** Ends the utterance under way, if anybody has spoken. */
  flush(): Utterance | null {
    if (this.#loudFrames < LEAST_LOUD_FRAMES) return null;
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
    const isLoud = level > Math.max(LEAST_RMS, SPEECH_TO_FLOOR * this.#floor);
    // The floor falls fast and rises slowly, so that speech does not lift it.
    this.#floor += (level - this.#floor) * (level < this.#floor ? 0.2 : isLoud ? 0.0005 : 0.02);
    this.#loudFrames += isLoud ? 1 : 0;
    this.#quietFrames = isLoud ? 0 : this.#quietFrames + 1;
    if (this.#quietFrames >= TRAILING_SILENCE_FRAMES || this.#frames.length >= LONGEST_UTTERANCE_FRAMES) {
      const utterance = this.flush();
      if (utterance) return utterance;
    }
    if (this.#loudFrames < LEAST_LOUD_FRAMES && this.#quietFrames > PRE_ROLL_FRAMES) {
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

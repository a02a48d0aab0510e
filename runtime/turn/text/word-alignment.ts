/**
 * Finds the word a voice has reached from its audio alone: the sounds expected from the text (word-sounds.ts)
 * are aligned with the sounds heard (voice-sounds.ts) along the likeliest path near the voice's usual speed
 * (Viterbi, in steps of 20 ms).
 */
import { AFTER_GAP, AFTER_PAUSE, STEP_MS, UNCLASSIFIED, type VoiceStep } from './voice-sounds.ts';
import type { Sound, SoundKind } from './word-sounds.ts';

/** A word of the text, in speaking order. */
export interface AlignedWord {
  readonly sounds: readonly Sound[];
  /** Punctuation follows, at which voices pause. */
  readonly mayPause: boolean;
}

/**
 * Log-likelihood ratio of each observation for one kind of sound against all sounds (natural logarithm);
 * columns as in `VoiceStep.heard`. Counted in fifty sentences of four voices, at 8 and 16 kHz.
 */
const LIKELIHOOD: Readonly<Record<SoundKind, readonly number[]>> = {
  vowel: [-0.54, -0.03, 0.31, -0.77, -0.24, 0.22, -0.89, -0.78, -1.64, -0.92, -1.54],
  liquid: [-0.58, 0.28, 0.21, -1.33, -0.66, 0.06, -1.57, -1.9, -1.94, -1.49, -2.16],
  hiss: [-0.46, -0.57, -1.14, 0.74, 0.9, -1.12, 1.09, 1.89, 1.82, -0.65, -1.03],
  breath: [0.63, -0.15, -0.41, 0.83, -0.25, 0.41, 0.84, -2.69, 0.48, -0.38, -1.6],
  stop: [0.54, -0.2, -0.84, 0.96, 0.33, -0.4, 0.89, -0.12, -0.7, 1.3, -2.53],
  voicedStop: [0.9, 0.26, -0.27, -0.17, -0.01, -1.46, -0.8, -1.41, -2.46, -0.99, -1.19],
  other: [-0.03, 0.05, -0.02, 0.13, 0.05, -0.68, 0.18, -0.39, -0.55, -0.37, -2.08],
};
/** The same for a silence before the first sound of a word, and for one after punctuation. */
const BEFORE_WORD = { gap: 1.54, pause: 0.13 };
const AFTER_MARK = { gap: 1.95, pause: 5.14 };
/**
 * Emission scores of the model: of each observation for each kind of sound, within a word, at its start, and
 * at its start after punctuation.
 */
const EMISSIONS = Array.from({ length: UNCLASSIFIED + 1 }, (_, heard) => {
  const rows = Object.values(LIKELIHOOD).map((likelihood) => likelihood[heard] ?? 0);
  const first = ({ gap, pause }: typeof BEFORE_WORD) =>
    rows.map((score) => (heard === AFTER_GAP ? gap : heard === AFTER_PAUSE ? pause : score));
  return Float64Array.from([...rows, ...first(BEFORE_WORD), ...first(AFTER_MARK)]);
});
const KINDS = Object.keys(LIKELIHOOD);
/** Cost of staying in place for a step, or of moving twice as far. */
const OFF_PACE = 0.7;
/** Width of the search around the likeliest place, in steps. */
const REACH = 60;
const WIDTH = 2 * REACH + 1;
/** Initial room for a path; doubled on demand. */
const FIRST_STEPS = 64;

/** The text as places: a sound's share of one expected step. */
interface Places {
  /** The word of each place. */
  readonly words: readonly number[];
  /** The expected sound of each place: a column of the score table. */
  readonly expected: Uint8Array;
}

/** The beam: the places considered after a step, starting at `from`; all others are out of reach. */
interface Beam {
  from: number;
  /** The score of each place. */
  readonly scores: Float64Array;
  length: number;
}

/** The steps so far, for tracing back. */
interface Trace {
  /** The first place of each step's moves. */
  readonly froms: number[];
  /** `WIDTH` entries per step: how many places were advanced to reach each, 0, 1 or 2. */
  moves: Uint8Array;
  readonly endsMs: number[];
}

/** Follows a voice through one text as its audio arrives. */
export class WordAlignment {
  readonly #words: number;
  readonly #places: Places;
  readonly #trace: Trace = { froms: [], moves: new Uint8Array(FIRST_STEPS * WIDTH), endsMs: [] };
  /** Scores after the last step; the next step writes to the other buffer. */
  #last: Beam = { from: 0, scores: new Float64Array(WIDTH), length: 1 };
  #next: Beam = { from: 0, scores: new Float64Array(WIDTH), length: 0 };

  /** `letterMs` is the voice's speed: voiced ms per letter. */
  constructor(words: readonly AlignedWord[], letterMs: number) {
    this.#words = words.length;
    this.#places = placesOf(words, letterMs / STEP_MS);
  }

  /** Ends of all words, in ms, of a text whose audio is complete in these steps. */
  static whole(words: readonly AlignedWord[], steps: readonly VoiceStep[]): number[] {
    const alignment = new WordAlignment(words, (steps.length * STEP_MS) / lettersOf(words));
    const place = alignment.#places.expected.length - 1;
    steps.forEach((step, index) => {
      alignment.#take(step, Math.round((place * index) / Math.max(1, steps.length - 1)));
    });
    const lastMs = steps.at(-1)?.endMs ?? Number.POSITIVE_INFINITY;
    return alignment.#endsUpTo(place).map((endMs) => Math.min(endMs, lastMs));
  }

  /** Adds the next observation. */
  push(step: VoiceStep): void {
    this.#take(step, bestOf(this.#last));
  }

  /** Ends of words so far in ms; infinity for the rest. `isPausing`: current silence ends a word. */
  endsMs(isPausing: boolean): number[] {
    const count = this.#trace.froms.length;
    const place = bestOf(this.#last);
    if (!isPausing || count === 0) return this.#endsUpTo(place);
    this.#advance(AFTER_PAUSE, place);
    return this.#endsUpTo(bestOf(this.#next), count + 1);
  }

  #take({ heard, endMs }: VoiceStep, centre: number): void {
    const { froms, endsMs } = this.#trace;
    endsMs.push(endMs);
    if (froms.length === 0) {
      froms.push(0);
      return;
    }
    this.#advance(heard, centre);
    froms.push(this.#next.from);
    [this.#last, this.#next] = [this.#next, this.#last];
  }

  /** Scores one more step for the places around `centre` and records how each was reached. */
  #advance(heard: number, centre: number): void {
    const { expected } = this.#places;
    const [before, after] = [this.#last, this.#next];
    const step = this.#trace.froms.length;
    this.#makeRoomFor(step);
    const { moves } = this.#trace;
    const from = Math.max(0, centre - REACH);
    after.from = from;
    after.length = Math.min(expected.length, centre + REACH + 1) - from;
    const emissions = EMISSIONS[heard] as Float64Array;
    let skipped = scoreAt(before, from - 2);
    let advanced = scoreAt(before, from - 1);
    for (let index = 0; index < after.length; index++) {
      const stayed = scoreAt(before, from + index);
      const offPace = (stayed > skipped ? stayed : skipped) - OFF_PACE;
      const likelihood = emissions[expected[from + index] as number] as number;
      moves[step * WIDTH + index] = advanced >= offPace ? 1 : stayed > skipped ? 0 : 2;
      after.scores[index] = (advanced >= offPace ? advanced : offPace) + likelihood;
      skipped = advanced;
      advanced = stayed;
    }
  }

  #makeRoomFor(step: number): void {
    const trace = this.#trace;
    const end = (step + 1) * WIDTH;
    if (end <= trace.moves.length) return;
    const longer = new Uint8Array(2 * end);
    longer.set(trace.moves);
    trace.moves = longer;
  }

  /**
   * Traces the path back from a place after `steps`: a word ended one step before the first step of a later
   * word.
   */
  #endsUpTo(last: number, steps = this.#trace.froms.length): number[] {
    const { froms, moves, endsMs } = this.#trace;
    const ends = new Array<number>(this.#words).fill(Number.POSITIVE_INFINITY);
    const wordAt = (place: number) => this.#places.words[place] ?? 0;
    let place = last;
    for (let step = steps - 1; step > 0; step--) {
      // A tentative step, taken to test a pause, is not among them.
      const from = froms[step] ?? this.#next.from;
      const before = place - (moves[step * WIDTH + place - from] ?? 0);
      for (let word = wordAt(before); word < wordAt(place); word++) ends[word] = endsMs[step - 1] as number;
      place = before;
    }
    return ends;
  }
}

/** Letters of a text, counted by its sounds. */
export function lettersOf(words: readonly AlignedWord[]): number {
  return words.reduce((sum, { sounds }) => sounds.reduce((before, { letters }) => before + letters, sum), 0);
}

/** One place per expected step; every word has at least one. */
function placesOf(words: readonly AlignedWord[], stepsPerLetter: number): Places {
  const places: { word: number; expected: number }[] = [];
  let steps = 0;
  words.forEach(({ sounds }, word) => {
    const first = words[word - 1]?.mayPause ? 2 : 1;
    sounds.forEach(({ kind, letters }, index) => {
      const column = KINDS.indexOf(kind);
      if (index === 0) places.push({ word, expected: column + first * KINDS.length });
      steps += letters * stepsPerLetter;
      while (places.length < Math.round(steps)) places.push({ word, expected: column });
    });
  });
  return {
    words: places.map(({ word }) => word),
    expected: Uint8Array.from(places, ({ expected }) => expected),
  };
}

/** Far below the score of any reachable place. */
const OUT_OF_REACH = -1e9;

function scoreAt({ from, scores, length }: Beam, place: number): number {
  const index = place - from;
  return index >= 0 && index < length ? (scores[index] as number) : OUT_OF_REACH;
}

function bestOf({ from, scores, length }: Beam): number {
  let best = 0;
  for (let index = 1; index < length; index++)
    if ((scores[index] as number) > (scores[best] as number)) best = index;
  return from + best;
}

/**
 * Which word of a text a voice has come to, told from its audio alone: the sounds expected of the text (word-sounds.ts) are laid along the sounds heard
 * (voice-sounds.ts) on the likeliest path that speaks neither much faster nor much slower than the voice usually does (Viterbi, a step of 20 ms at a time).
 */
import { AFTER_GAP, AFTER_PAUSE, STEP_MS, UNTOLD, type VoiceStep } from './voice-sounds.ts';
import type { Sound, SoundKind } from './word-sounds.ts';

/** A word of the text, in the order of speaking. */
export interface AlignedWord {
  readonly sounds: readonly Sound[];
  /** A mark follows, at which voices pause. */
  readonly mayPause: boolean;
}

/**
 * How much likelier each thing is heard of one kind of sound than of any (natural logarithm); columns as in `VoiceStep.heard`.
 * Counted in fifty sentences of four voices, at 8 and 16 kHz.
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
/** The same of a silence before the first sound of a word, and of one after a mark. */
const BEFORE_WORD = { gap: 1.54, pause: 0.13 };
const AFTER_MARK = { gap: 1.95, pause: 5.14 };
/** For everything that is heard, how much it speaks for each kind of sound: within a word, as the first of a word, and as the first after a mark. */
const TOLD = Array.from({ length: UNTOLD + 1 }, (_, heard) => {
  const rows = Object.values(LIKELIHOOD).map((likelihood) => likelihood[heard] ?? 0);
  const first = ({ gap, pause }: typeof BEFORE_WORD) => rows.map((told) => (heard === AFTER_GAP ? gap : heard === AFTER_PAUSE ? pause : told));
  return Float64Array.from([...rows, ...first(BEFORE_WORD), ...first(AFTER_MARK)]);
});
const KINDS = Object.keys(LIKELIHOOD);
/** What it costs to stand still for a step, or to go twice as far. */
const OFF_PACE = 0.7;
/** How far from the likeliest place others are thought of, in steps. */
const REACH = 60;

/** The text in places: as much of a sound as is expected to take one step. */
interface Places {
  /** The word of each. */
  readonly words: readonly number[];
  /** What is expected of each: a column of `TOLD`. */
  readonly expected: Uint8Array;
}

/** How likely each place is after a step, and how it is got to. */
interface Reached {
  /** The place the lists begin with; those that are not in them are out of reach. */
  readonly from: number;
  readonly scores: Float64Array;
  /** By how many places the step went on: 0, 1 or 2. */
  readonly moves: Uint8Array;
}

/** Follows a voice through one text while its audio comes. */
export class WordAlignment {
  readonly #words: number;
  readonly #places: Places;
  readonly #reached: Reached[] = [];
  readonly #endsMs: number[] = [];

  /** `letterMs` is the voice's speed: voiced ms per letter. */
  constructor(words: readonly AlignedWord[], letterMs: number) {
    this.#words = words.length;
    this.#places = placesOf(words, letterMs / STEP_MS);
  }

  /** When each word of a text ended that was spoken to its end in these steps, ms. */
  static whole(words: readonly AlignedWord[], steps: readonly VoiceStep[]): number[] {
    const alignment = new WordAlignment(words, (steps.length * STEP_MS) / lettersOf(words));
    const place = alignment.#places.expected.length - 1;
    steps.forEach((step, index) => {
      alignment.#take(step, Math.round((place * index) / Math.max(1, steps.length - 1)));
    });
    const lastMs = steps.at(-1)?.endMs ?? Number.POSITIVE_INFINITY;
    return endsOn({ ...alignment.#path(), place }).map((endMs) => Math.min(endMs, lastMs));
  }

  /** Takes in what was heard next. */
  push(step: VoiceStep): void {
    const last = this.#reached.at(-1);
    this.#take(step, last ? bestOf(last) : 0);
  }

  /** When each word ended, ms; infinity for those that have not yet. `isPausing`: there is silence now, which ends a word. */
  endsMs(isPausing: boolean): number[] {
    const last = this.#reached.at(-1);
    if (!last) return new Array<number>(this.#words).fill(Number.POSITIVE_INFINITY);
    const place = bestOf(last);
    if (!isPausing) return endsOn({ ...this.#path(), place });
    const beyond = advance(this.#places, last, AFTER_PAUSE, place);
    return endsOn({ ...this.#path(), reached: [...this.#reached, beyond], place: bestOf(beyond) });
  }

  #take({ heard, endMs }: VoiceStep, centre: number): void {
    const last = this.#reached.at(-1);
    this.#reached.push(last ? advance(this.#places, last, heard, centre) : START);
    this.#endsMs.push(endMs);
  }

  #path(): Omit<Path, 'place'> {
    return { words: this.#words, places: this.#places, reached: this.#reached, endsMs: this.#endsMs };
  }
}

/** Letters of a text, as its sounds count them. */
export function lettersOf(words: readonly AlignedWord[]): number {
  return words.reduce((sum, { sounds }) => sounds.reduce((before, { letters }) => before + letters, sum), 0);
}

const START: Reached = { from: 0, scores: new Float64Array(1), moves: new Uint8Array(1) };

/** A place for each step the text is expected to take; every word has one at least. */
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
  return { words: places.map(({ word }) => word), expected: Uint8Array.from(places, ({ expected }) => expected) };
}

/** One more step, to the places around `centre`. */
function advance({ expected }: Places, before: Reached, heard: number, centre: number): Reached {
  const from = Math.max(0, centre - REACH);
  const length = Math.min(expected.length, centre + REACH + 1) - from;
  const [scores, moves] = [new Float64Array(length), new Uint8Array(length)];
  const told = TOLD[heard] as Float64Array;
  let leapt = scoreAt(before, from - 2);
  let went = scoreAt(before, from - 1);
  for (let index = 0; index < length; index++) {
    const stood = scoreAt(before, from + index);
    const offPace = (stood > leapt ? stood : leapt) - OFF_PACE;
    const likelihood = told[expected[from + index] as number] as number;
    if (went >= offPace) {
      moves[index] = 1;
      scores[index] = went + likelihood;
    } else {
      moves[index] = stood > leapt ? 0 : 2;
      scores[index] = offPace + likelihood;
    }
    leapt = went;
    went = stood;
  }
  return { from, scores, moves };
}

/** Far below any place that can be reached. */
const OUT_OF_REACH = -1e9;

function scoreAt({ from, scores }: Reached, place: number): number {
  const index = place - from;
  return index >= 0 && index < scores.length ? (scores[index] as number) : OUT_OF_REACH;
}

function bestOf({ from, scores }: Reached): number {
  let best = 0;
  for (let index = 1; index < scores.length; index++) if ((scores[index] as number) > (scores[best] as number)) best = index;
  return from + best;
}

interface Path {
  readonly words: number;
  readonly places: Places;
  readonly reached: readonly Reached[];
  readonly endsMs: readonly number[];
  /** Where the path ends. */
  readonly place: number;
}

/** Goes back along a path: a word ended with the step before the first of a later one. */
function endsOn({ words, places, reached, endsMs, place: last }: Path): number[] {
  const ends = new Array<number>(words).fill(Number.POSITIVE_INFINITY);
  let place = last;
  for (let step = reached.length - 1; step > 0; step--) {
    const { from, moves } = reached[step] as Reached;
    const before = place - (moves[place - from] ?? 0);
    for (let word = places.words[before] ?? 0; word < (places.words[place] ?? 0); word++) ends[word] = endsMs[step - 1] as number;
    place = before;
  }
  return ends;
}

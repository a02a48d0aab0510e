/**
 * Measures the error, in words, of the estimate of heard words for a voice whose true word times are known
 * but hidden from the estimate.
 */
import { addAudio, completePiece, createPiece, heardText, type VoicePace } from '#runtime/turn/loop/heard.ts';
import type { SpeakableText } from '#runtime/turn/text/speakable-text.ts';
import type { Random } from '#test/simulation/random.ts';

/** A sentence as spoken by a voice. */
export interface VoicedSentence {
  readonly text: string;
  readonly speech: SpeakableText;
  readonly samples: Int16Array;
  readonly rateHz: number;
  /** The true end time of each word, by its position in the spoken text. */
  readonly words: readonly { readonly textEnd: number; readonly endMs: number }[];
}

/** Estimated words minus finished words, at random moments. */
export interface WordsOff {
  /** When the audio of the whole piece has arrived. */
  readonly whole: number[];
  /** When one second of audio beyond the moment has arrived. */
  readonly ahead: number[];
  /** When audio arrives only as fast as it is played. */
  readonly edge: number[];
}

/**
 * Audio buffered beyond a moment that is not at the edge, ms. Voices generate audio faster than it is played.
 */
const AHEAD_MS = 1_000;
/** Range of chunk lengths, s. */
const CHUNK_S = [0.1, 0.4] as const;

interface Moment {
  readonly legPieceId: number;
  readonly offsetMs: number;
  readonly playedMs: number;
}

/** Estimates one sentence at a moment in each chunk of its audio, and updates the pace. */
export function wordsOff(
  { text, speech, samples, rateHz, words }: VoicedSentence,
  pace: VoicePace,
  random: Random,
): WordsOff {
  const piece = createPiece(text, speech, pace);
  // A written word ends when all the spoken text that represents it has been spoken.
  const endsMs = speech.words.map(
    ({ spokenEnd }) => words.findLast(({ textEnd }) => textEnd <= spokenEnd)?.endMs ?? 0,
  );
  const offAt = ({ playedMs, ...position }: Moment) => {
    const heard = heardText([piece], position).text.length;
    return (
      speech.words.filter(({ textEnd }) => textEnd <= heard).length -
      endsMs.filter((endMs) => endMs <= playedMs).length
    );
  };
  const off: WordsOff = { whole: [], ahead: [], edge: [] };
  const moments: Moment[] = [];
  let waiting: Moment[] = [];
  let from = 0;
  for (let legPieceId = 1; from < samples.length; legPieceId++) {
    const to = Math.min(samples.length, from + Math.round(random.between(...CHUNK_S) * rateHz));
    addAudio(piece, legPieceId, samples.subarray(from, to), rateHz);
    const offsetMs = random.between(0, ((to - from) * 1_000) / rateHz);
    const moment = { legPieceId, offsetMs, playedMs: (from * 1_000) / rateHz + offsetMs };
    off.edge.push(offAt(moment));
    moments.push(moment);
    waiting.push(moment);
    const isAhead = ({ playedMs }: Moment) => (to * 1_000) / rateHz - playedMs >= AHEAD_MS;
    off.ahead.push(...waiting.filter(isAhead).map(offAt));
    waiting = waiting.filter((one) => !isAhead(one));
    from = to;
  }
  completePiece(piece);
  off.whole.push(...moments.map(offAt));
  pace.learn(piece);
  return off;
}

/** Merges several results. */
export function merge(all: readonly WordsOff[]): WordsOff {
  return {
    whole: all.flatMap(({ whole }) => whole),
    ahead: all.flatMap(({ ahead }) => ahead),
    edge: all.flatMap(({ edge }) => edge),
  };
}

/** Share of samples with an error of at most this many words, 0 to 1. */
export function partWithin(samples: readonly number[], words: number): number {
  return samples.filter((off) => Math.abs(off) <= words).length / samples.length;
}

/** Signed mean: positive when the estimate is too long. */
export function bias(samples: readonly number[]): number {
  return samples.reduce((sum, off) => sum + off, 0) / samples.length;
}

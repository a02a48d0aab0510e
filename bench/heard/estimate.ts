/**
 * By how many words the estimate of what was heard is off, of a voice whose true word times are
 * known and kept from it.
 */
import {
  addAudio,
  completePiece,
  createPiece,
  heardText,
  type VoicePace,
} from '#runtime/turn/machine/heard.ts';
import type { SpeakableText } from '#runtime/turn/text/speakable-text.ts';
import type { Random } from '#test/simulation/random.ts';

/** One sentence as a voice spoke it. */
export interface VoicedSentence {
  readonly text: string;
  readonly speech: SpeakableText;
  readonly samples: Int16Array;
  readonly rateHz: number;
  /** The voice's own times of the words it spoke, by their place in the spoken text. */
  readonly words: readonly { readonly textEnd: number; readonly endMs: number }[];
}

/** Words estimated less words that were over, at random moments. */
export interface WordsOff {
  /** With the piece whole. */
  readonly whole: number[];
  /** With a second of audio beyond the moment. */
  readonly ahead: number[];
  /** At the edge of audio that comes no faster than it is played. */
  readonly edge: number[];
}

/**
 * How much audio there is beyond a moment that is not at the edge, ms: voices are faster than they are
 * played.
 */
const AHEAD_MS = 1_000;
/** Audio comes in chunks of about this length, s. */
const CHUNK_S = [0.1, 0.4] as const;

interface Moment {
  readonly legPieceId: number;
  readonly offsetMs: number;
  readonly playedMs: number;
}

/** The estimate for one sentence, at a moment in each chunk of its audio; the pace learns from it. */
export function wordsOff(
  { text, speech, samples, rateHz, words }: VoicedSentence,
  pace: VoicePace,
  random: Random,
): WordsOff {
  const piece = createPiece(text, speech, pace);
  // A written word is over when all was said that stands for it.
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

/** The whole of several. */
export function joined(all: readonly WordsOff[]): WordsOff {
  return {
    whole: all.flatMap(({ whole }) => whole),
    ahead: all.flatMap(({ ahead }) => ahead),
    edge: all.flatMap(({ edge }) => edge),
  };
}

/** The part of the samples that is off by no more than so many words, 0 to 1. */
export function partWithin(samples: readonly number[], words: number): number {
  return samples.filter((off) => Math.abs(off) <= words).length / samples.length;
}

/** The mean, with its sign: above zero the record is too long. */
export function bias(samples: readonly number[]): number {
  return samples.reduce((sum, off) => sum + off, 0) / samples.length;
}

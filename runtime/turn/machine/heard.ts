/**
 * What the caller has heard of a reply, to the word: one pure function of the playout position, used for
 * transcript, model and captions alike. Exact where the voice gave word times or a piece was played whole;
 * otherwise estimated by the sounds its words are spelled with (word-alignment.ts), while audio is still to
 * come at the speed the voice had in the pieces before. A word counts once it has ended.
 */
import type { Emotion } from '#media/speech/speech.ts';
import type { SpeakableText } from '../text/speakable-text.ts';
import { STEP_MS, VoiceListener } from '../text/voice-sounds.ts';
import { type AlignedWord, lettersOf, WordAlignment } from '../text/word-alignment.ts';
import { soundsOf } from '../text/word-sounds.ts';

/** One speakable piece with the audio made of it so far. */
export interface VoicedPiece {
  readonly text: string;
  /** The text as the voice is given it. */
  readonly spoken: string;
  readonly emotion: Emotion | null;
  readonly words: readonly HeardWord[];
  /** False while more audio of the piece is to come, and for good where its voice broke off. */
  isComplete: boolean;
  /** Audio of the piece in the order it goes to the leg. */
  readonly chunks: VoicedChunk[];
  /** What its audio sounds like so far. */
  readonly listener: VoiceListener;
  /** Null before there is audio, after all of it, and where the voice tells times itself. */
  alignment: WordAlignment | null;
  /** When each word ends as far as is known, ms from the start of the piece; infinity beyond. */
  endsMs: readonly number[];
  readonly pace: VoicePace;
}

/** A written word with what stands for it in the spoken text. */
export interface HeardWord extends AlignedWord {
  readonly textEnd: number;
  readonly spokenEnd: number;
  /** End within the piece as the voice timed it, ms; null where it gives no times. */
  endMs: number | null;
}

/** A stretch of audio under the id by which the leg reports it. */
export interface VoicedChunk {
  readonly legPieceId: number;
  readonly durationMs: number;
}

/** A place in what the leg was told to play. */
export interface HeardPosition {
  readonly legPieceId: number;
  readonly offsetMs: number;
}

/** What was heard, and how sure that is. */
export interface HeardText {
  readonly text: string;
  readonly isExact: boolean;
}

/** Usual speed of a voice until a piece of it was heard whole: voiced ms per letter. */
const USUAL_LETTER_MS = 55;
/** The usual speed counts as so many letters; a first word alone says little. */
const USUAL_LETTERS = 10;
/** From here on what was learned first is forgotten, letters. */
const REMEMBERED_LETTERS = 1_000;
const MARK = /[,;:.!?…—–，、；：。！？]["')\]”’»]*$/u;

/** The speed of one voice, learned from the pieces that are complete. */
export class VoicePace {
  #letters = USUAL_LETTERS;
  #voicedMs = USUAL_LETTERS * USUAL_LETTER_MS;

  /** Voiced ms per letter. */
  get letterMs(): number {
    return this.#voicedMs / this.#letters;
  }

  /** Takes in a piece that was voiced to its end. */
  learn(piece: VoicedPiece): void {
    const voicedMs = piece.listener.steps.length * STEP_MS;
    if (voicedMs === 0) return;
    this.#letters += lettersOf(piece.words);
    this.#voicedMs += voicedMs;
    const kept = Math.min(1, REMEMBERED_LETTERS / this.#letters);
    this.#letters *= kept;
    this.#voicedMs *= kept;
  }
}

/** A piece before any audio. */
export function createPiece(
  text: string,
  speakable: SpeakableText,
  pace: VoicePace,
  emotion: Emotion | null = null,
): VoicedPiece {
  const words = speakable.words.map(({ textEnd, spokenStart, spokenEnd }) => {
    const said = speakable.spoken.slice(spokenStart, spokenEnd);
    return { textEnd, sounds: soundsOf(said), mayPause: MARK.test(said), spokenEnd, endMs: null };
  });
  const endsMs = words.map(() => Number.POSITIVE_INFINITY);
  const { spoken } = speakable;
  return {
    text,
    spoken,
    emotion,
    words,
    isComplete: false,
    chunks: [],
    listener: new VoiceListener(),
    alignment: null,
    endsMs,
    pace,
  };
}

/** What was heard when playout stands at `position`; null: nothing was sent. */
export function heardText(pieces: readonly VoicedPiece[], position: HeardPosition | null): HeardText {
  if (!position) return { text: '', isExact: true };
  const heard: string[] = [];
  for (const piece of pieces) {
    const isBefore =
      piece.isComplete && piece.chunks.every(({ legPieceId }) => legPieceId < position.legPieceId);
    if (isBefore) {
      heard.push(piece.text);
      continue;
    }
    const part = heardOfPiece(piece, position);
    if (part.text !== '') heard.push(part.text);
    return { text: heard.join(' '), isExact: part.isExact };
  }
  return { text: heard.join(' '), isExact: true };
}

/** Everything that was voiced. */
export function wholeText(pieces: readonly VoicedPiece[]): string {
  return pieces
    .filter(({ chunks }) => chunks.length > 0)
    .map((piece) => (piece.isComplete ? piece.text : endedText(piece, Number.POSITIVE_INFINITY)))
    .filter((text) => text !== '')
    .join(' ');
}

function heardOfPiece(piece: VoicedPiece, position: HeardPosition): HeardText {
  let playedMs = 0;
  for (const chunk of piece.chunks) {
    if (chunk.legPieceId < position.legPieceId) playedMs += chunk.durationMs;
    else if (chunk.legPieceId === position.legPieceId)
      playedMs += Math.min(chunk.durationMs, position.offsetMs);
  }
  // Half a millisecond: marks are whole samples.
  return { text: endedText(piece, playedMs + 0.5), isExact: isTimed(piece) };
}

/** The words that have ended by then. */
function endedText({ text, words, endsMs }: VoicedPiece, byMs: number): string {
  const last = endsMs.findLastIndex((endMs) => Number.isFinite(endMs) && endMs <= byMs);
  return text.slice(0, words[last]?.textEnd ?? 0);
}

function isTimed(piece: VoicedPiece): boolean {
  return piece.words.some(({ endMs }) => endMs !== null);
}

/** Adds word times of the voice; `endMs` belongs to the spoken text up to `spokenEnd`. */
export function addWordTime(piece: VoicedPiece, spokenEnd: number, endMs: number): void {
  const word = piece.words.find((candidate) => candidate.spokenEnd >= spokenEnd);
  if (word) word.endMs = Math.max(word.endMs ?? 0, endMs);
}

/**
 * The piece is complete: words the voice gave no time for end with the next one that has one, or with the
 * piece.
 */
export function completePiece(piece: VoicedPiece): void {
  piece.isComplete = true;
  piece.alignment = null;
  if (!isTimed(piece)) {
    piece.endsMs = WordAlignment.whole(piece.words, piece.listener.steps);
    return;
  }
  let endMs = piece.chunks.reduce((sum, { durationMs }) => sum + durationMs, 0);
  for (const word of piece.words.toReversed()) {
    word.endMs ??= endMs;
    endMs = word.endMs;
  }
  piece.endsMs = piece.words.map((word) => word.endMs ?? endMs);
}

/**
 * No more audio of the piece will come, though not all of it was said: it was heard as far as it had come.
 */
export function breakOffPiece(piece: VoicedPiece): void {
  if (piece.alignment) piece.endsMs = piece.alignment.endsMs(true);
  piece.alignment = null;
}

/** Appends audio; what the voice said of its words' times comes before. */
export function addAudio(piece: VoicedPiece, legPieceId: number, samples: Int16Array, rateHz: number): void {
  piece.chunks.push({ legPieceId, durationMs: (samples.length * 1_000) / rateHz });
  if (isTimed(piece)) {
    // A word whose time has not come yet has no audio yet either.
    piece.endsMs = piece.words.map(({ endMs }) => endMs ?? Number.POSITIVE_INFINITY);
    return;
  }
  piece.alignment ??= new WordAlignment(piece.words, piece.pace.letterMs);
  for (const step of piece.listener.listen(samples, rateHz)) piece.alignment.push(step);
  piece.endsMs = piece.alignment.endsMs(piece.listener.isPausing);
}

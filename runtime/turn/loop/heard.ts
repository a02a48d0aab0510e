/**
 * What the caller has heard of a reply, to the word: a pure function of the playout position, shared by
 * transcript, model and captions. Exact where the voice gave word times or a piece was played whole.
 * Otherwise estimated from the sounds of the spelling (word-alignment.ts), from letters and time alone where
 * the voice does not sound like speech, and for audio still to come from the voice's speed so far. A word
 * counts once it has ended.
 */
import type { Emotion } from '#media/speech/speech.ts';
import type { SpeakableText } from '../text/speakable-text.ts';
import { STEP_MS, VoiceListener } from '../text/voice-sounds.ts';
import { type AlignedWord, lettersOf, WordAlignment } from '../text/word-alignment.ts';
import { type Sound, soundsOf } from '../text/word-sounds.ts';

/** One speakable piece with its audio so far. */
export interface VoicedPiece {
  readonly text: string;
  /** The text given to the voice. */
  readonly spoken: string;
  readonly emotion: Emotion | null;
  readonly words: readonly HeardWord[];
  /** False while audio is still to come, and permanently if the voice broke off. */
  isComplete: boolean;
  /** Audio of the piece, in the order it goes to the leg. */
  readonly chunks: VoicedChunk[];
  /** Analyses its audio so far. */
  readonly listener: VoiceListener;
  /** Null before any audio, once the piece is complete, and when the voice reports word times. */
  alignment: WordAlignment | null;
  /** Known end of each word, in ms from the start of the piece; infinity beyond. */
  endsMs: readonly number[];
  readonly pace: VoicePace;
}

/** A written word and its part of the spoken text. */
export interface HeardWord extends AlignedWord {
  readonly textEnd: number;
  readonly spokenEnd: number;
  /** End within the piece as reported by the voice, in ms; null without word times. */
  endMs: number | null;
}

/** Audio with the id by which the leg reports it. */
export interface VoicedChunk {
  readonly legPieceId: number;
  readonly durationMs: number;
}

/** A position in the audio given to the leg. */
export interface HeardPosition {
  readonly legPieceId: number;
  readonly offsetMs: number;
}

/** The heard text, and whether it is exact. */
export interface HeardText {
  readonly text: string;
  readonly isExact: boolean;
}

/** Default speed of a voice until a whole piece was heard: voiced ms per letter. */
const USUAL_LETTER_MS = 55;
/** Weight of the default speed in letters, because one word says little. */
const USUAL_LETTERS = 10;
/** Letters after which the oldest measurements fade. */
const REMEMBERED_LETTERS = 1_000;
const MARK = /[,;:.!?…—–，、；：。！？]["')\]”’»]*$/u;

/** The speed of one voice, learned from complete pieces. */
export class VoicePace {
  #letters = USUAL_LETTERS;
  #voicedMs = USUAL_LETTERS * USUAL_LETTER_MS;

  /** Voiced ms per letter. */
  get letterMs(): number {
    return this.#voicedMs / this.#letters;
  }

  /** Learns from a complete piece. */
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

/** A word of a piece. Its sounds are needed only by an estimate: many voices say when each word ends. */
class WrittenWord implements HeardWord {
  readonly textEnd: number;
  readonly spokenEnd: number;
  readonly mayPause: boolean;
  endMs: number | null = null;
  readonly #said: string;
  #sounds: readonly Sound[] | null = null;

  constructor(said: string, textEnd: number, spokenEnd: number) {
    this.#said = said;
    this.textEnd = textEnd;
    this.spokenEnd = spokenEnd;
    this.mayPause = MARK.test(said);
  }

  get sounds(): readonly Sound[] {
    this.#sounds ??= soundsOf(this.#said);
    return this.#sounds;
  }
}

/** A piece without audio yet. */
export function createPiece(
  text: string,
  speakable: SpeakableText,
  pace: VoicePace,
  emotion: Emotion | null = null,
): VoicedPiece {
  const words = speakable.words.map(({ textEnd, spokenStart, spokenEnd }) => {
    return new WrittenWord(speakable.spoken.slice(spokenStart, spokenEnd), textEnd, spokenEnd);
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

/** The text heard when playout is at `position`; null: nothing was sent. */
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

/** All text that was synthesised. */
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
  // Half a millisecond of tolerance: marks are whole samples.
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

/** Adds a word time from the voice: the spoken text up to `spokenEnd` ends at `endMs`. */
export function addWordTime(piece: VoicedPiece, spokenEnd: number, endMs: number): void {
  const word = piece.words.find((candidate) => candidate.spokenEnd >= spokenEnd);
  if (word) word.endMs = Math.max(word.endMs ?? 0, endMs);
}

/** Completes a piece: words without a time end with the next word that has one, or with the piece. */
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

/** The voice broke off: the piece was heard as far as its audio goes. */
export function breakOffPiece(piece: VoicedPiece): void {
  if (piece.alignment) piece.endsMs = piece.alignment.endsMs(true);
  piece.alignment = null;
}

/** Appends audio; its word times are added before it. */
export function addAudio(piece: VoicedPiece, legPieceId: number, samples: Int16Array, rateHz: number): void {
  piece.chunks.push({ legPieceId, durationMs: (samples.length * 1_000) / rateHz });
  if (isTimed(piece)) {
    // A word without a time has no audio yet either.
    piece.endsMs = piece.words.map(({ endMs }) => endMs ?? Number.POSITIVE_INFINITY);
    return;
  }
  const { listener, pace, words } = piece;
  const wasMonotonous = listener.hasBegunMonotonously;
  const added = listener.listen(samples, rateHz);
  // An alignment with a tone would stay in every later estimate: another one begins.
  if (listener.hasBegunMonotonously !== wasMonotonous) piece.alignment = null;
  const steps = piece.alignment ? added : listener.steps;
  piece.alignment ??= new WordAlignment(words, pace.letterMs);
  for (const step of steps) piece.alignment.push(step);
  piece.endsMs = piece.alignment.endsMs(listener.isPausing);
}

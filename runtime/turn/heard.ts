/**
 * What the caller has heard of a reply, to the word: one pure function of the playout position, used for transcript, model and captions alike.
 * Exact where the voice gave word times or a piece was played whole; otherwise estimated, words weighted by syllables over the piece's voiced frames.
 * A word counts once it ended, or where that is an estimate once half of it was played: waiting for its end would keep half a word too little on average.
 */
import type { Emotion } from '#media/speech/speech.ts';
import { type SpeakableText, syllables } from './speakable-text.ts';

/** One speakable piece with the audio made of it so far. */
export interface VoicedPiece {
  readonly text: string;
  /** The text as the voice is given it. */
  readonly spoken: string;
  readonly emotion: Emotion | null;
  readonly words: readonly HeardWord[];
  /** False while more audio of the piece is to come. */
  isComplete: boolean;
  /** Audio of the piece in the order it goes to the leg. */
  readonly chunks: VoicedChunk[];
}

/** A written word with its share of the piece. */
export interface HeardWord {
  readonly textEnd: number;
  readonly syllables: number;
  readonly spokenEnd: number;
  /** End within the piece as the voice timed it, ms; null where it gives no times. */
  endMs: number | null;
}

/** A stretch of audio under the id by which the leg reports it. */
export interface VoicedChunk {
  readonly legPieceId: number;
  readonly durationMs: number;
  /** Voiced time before each 10 ms frame of the chunk, and at its end, ms. */
  readonly voicedMs: readonly number[];
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

/** Usual speed of a voice until a piece's length is known. */
const SYLLABLES_PER_SECOND = 4.5;
const FRAME_MS = 10;

/** A piece before any audio. */
export function createPiece(text: string, speakable: SpeakableText, emotion: Emotion | null = null): VoicedPiece {
  const words = speakable.words.map(({ textEnd, spokenStart, spokenEnd }) => {
    const weight = speakable.spoken
      .slice(spokenStart, spokenEnd)
      .split(' ')
      .reduce((sum, word) => sum + syllables(word), 0);
    return { textEnd, syllables: Math.max(0.5, weight), spokenEnd, endMs: null };
  });
  return { text, spoken: speakable.spoken, emotion, words, isComplete: false, chunks: [] };
}

/** What was heard when playout stands at `position`; null: nothing was sent. */
export function heardText(pieces: readonly VoicedPiece[], position: HeardPosition | null): HeardText {
  if (!position) return { text: '', isExact: true };
  const heard: string[] = [];
  for (const piece of pieces) {
    const isBefore = piece.isComplete && piece.chunks.every(({ legPieceId }) => legPieceId < position.legPieceId);
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
    .map(({ text }) => text)
    .join(' ');
}

function heardOfPiece(piece: VoicedPiece, position: HeardPosition): HeardText {
  let playedMs = 0;
  for (const chunk of piece.chunks) {
    if (chunk.legPieceId < position.legPieceId) playedMs += chunk.durationMs;
    else if (chunk.legPieceId === position.legPieceId) playedMs += Math.min(chunk.durationMs, position.offsetMs);
  }
  const isExact = isTimed(piece);
  const countsFromMs = isExact ? wordEndsMs(piece) : estimatedMs(piece, 0.5);
  // Half a millisecond: marks are whole samples.
  const last = countsFromMs.findLastIndex((fromMs) => fromMs <= playedMs + 0.5);
  const textEnd = piece.words[last]?.textEnd ?? 0;
  return { text: piece.text.slice(0, textEnd), isExact };
}

function isTimed(piece: VoicedPiece): boolean {
  return piece.words.some(({ endMs }) => endMs !== null);
}

/** When each word of a piece ends, ms from the piece's start; ascending. Estimates become better as audio arrives. */
export function wordEndsMs(piece: VoicedPiece): number[] {
  // A word whose time has not come yet has no audio yet either.
  if (isTimed(piece)) return piece.words.map(({ endMs }) => endMs ?? Number.POSITIVE_INFINITY);
  return estimatedMs(piece, 1);
}

/** When this share of each word has been spoken, ms from the piece's start. */
function estimatedMs(piece: VoicedPiece, share: number): number[] {
  const voiced = piece.chunks.at(-1)?.voicedMs.at(-1) ?? 0;
  const total = piece.words.reduce((sum, word) => sum + word.syllables, 0);
  const totalVoicedMs = piece.isComplete ? voiced : Math.max(voiced, (total / SYLLABLES_PER_SECOND) * 1_000);
  let weight = 0;
  return piece.words.map((word) => {
    const spoken = weight + share * word.syllables;
    weight += word.syllables;
    return timeOfVoicedMs(piece, (spoken / total) * totalVoicedMs);
  });
}

/** The moment by which a piece has `voicedMs` of voice; beyond its audio, infinity. */
function timeOfVoicedMs(piece: VoicedPiece, voicedMs: number): number {
  let startMs = 0;
  for (const chunk of piece.chunks) {
    const frame = chunk.voicedMs.findIndex((before) => before >= voicedMs - 0.001);
    if (frame >= 0) return startMs + Math.min(chunk.durationMs, frame * FRAME_MS);
    startMs += chunk.durationMs;
  }
  return Number.POSITIVE_INFINITY;
}

/** Adds word times of the voice; `endMs` belongs to the spoken text up to `spokenEnd`. */
export function addWordTime(piece: VoicedPiece, spokenEnd: number, endMs: number): void {
  const word = piece.words.find((candidate) => candidate.spokenEnd >= spokenEnd);
  if (word) word.endMs = Math.max(word.endMs ?? 0, endMs);
}

/** The piece is complete: words the voice gave no time for end with the next one that has one, or with the piece. */
export function completePiece(piece: VoicedPiece): void {
  piece.isComplete = true;
  if (!isTimed(piece)) return;
  let endMs = piece.chunks.reduce((sum, { durationMs }) => sum + durationMs, 0);
  for (const word of piece.words.toReversed()) {
    word.endMs ??= endMs;
    endMs = word.endMs;
  }
}

/** Voiced time along a chunk, after `beforeMs` of voice: 10 ms frames whose energy stands above a twentieth of the loudest. */
export function voicedAlong(samples: Int16Array, rateHz: number, beforeMs: number): number[] {
  const frame = Math.max(1, Math.round((rateHz * FRAME_MS) / 1_000));
  const energies: number[] = [];
  for (let start = 0; start < samples.length; start += frame) {
    let sum = 0;
    const end = Math.min(samples.length, start + frame);
    for (let index = start; index < end; index++) sum += Math.abs(samples[index] ?? 0);
    energies.push(sum / (end - start));
  }
  const floor = Math.max(1, Math.max(0, ...energies) / 20);
  const along = [beforeMs];
  for (const energy of energies) along.push((along.at(-1) ?? 0) + (energy >= floor ? FRAME_MS : 0));
  return along;
}

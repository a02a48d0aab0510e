/**
 * What the caller has heard of a reply, to the word: one pure function of the playout position, used for transcript, model and captions alike.
 * Exact where the voice gave word times or a piece was played whole; otherwise estimated: words weighted by letters over the piece's voiced frames, held to the
 * pauses found at its punctuation, and while audio is still to come at the speed the voice had in the pieces before. A word counts once it has ended.
 */
import type { Emotion } from '#media/speech/speech.ts';
import { type SpeakableText, spokenWeight } from './speakable-text.ts';

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
  /** Energy of the loudest frame so far: what voice is measured by. */
  loudest: number;
  readonly pace: VoicePace;
}

/** A written word with its share of the piece. */
export interface HeardWord {
  readonly textEnd: number;
  readonly weight: number;
  /** A mark follows, at which voices pause. */
  readonly mayPause: boolean;
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

const FRAME_MS = 10;
/** Usual speed of a voice until a piece of it was heard whole: voiced ms per letter. */
const USUAL_LETTER_MS = 55;
/** The usual speed counts as so many letters; a first word alone says little. */
const USUAL_LETTERS = 10;
/** From here on what was learned first is forgotten, letters. */
const REMEMBERED_LETTERS = 1_000;
/** Silence within a piece that is no closed consonant. */
const PAUSE_MS = 120;
/** How far a pause may lie from where its mark was expected, as a share of the way from the pause before. */
const PAUSE_TOLERANCE = 0.5;
/** A frame is voiced whose energy is more than this part of the loudest one's. */
const VOICED_PART = 1 / 80;
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
    const voicedMs = voicedMsOf(piece);
    if (voicedMs === 0) return;
    this.#letters += weightOf(piece);
    this.#voicedMs += voicedMs;
    const kept = Math.min(1, REMEMBERED_LETTERS / this.#letters);
    this.#letters *= kept;
    this.#voicedMs *= kept;
  }
}

/** A piece before any audio. */
export function createPiece(text: string, speakable: SpeakableText, pace: VoicePace, emotion: Emotion | null = null): VoicedPiece {
  const words = speakable.words.map(({ textEnd, spokenStart, spokenEnd }) => {
    const said = speakable.spoken.slice(spokenStart, spokenEnd);
    return { textEnd, weight: spokenWeight(said), mayPause: MARK.test(said), spokenEnd, endMs: null };
  });
  return { text, spoken: speakable.spoken, emotion, words, isComplete: false, chunks: [], loudest: 0, pace };
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
  // Half a millisecond: marks are whole samples.
  const last = wordEndsMs(piece).findLastIndex((endMs) => endMs <= playedMs + 0.5);
  const textEnd = piece.words[last]?.textEnd ?? 0;
  return { text: piece.text.slice(0, textEnd), isExact: isTimed(piece) };
}

function isTimed(piece: VoicedPiece): boolean {
  return piece.words.some(({ endMs }) => endMs !== null);
}

/** When each word of a piece ends, ms from the piece's start; ascending. Estimates become better as audio arrives. */
export function wordEndsMs(piece: VoicedPiece): number[] {
  // A word whose time has not come yet has no audio yet either.
  if (isTimed(piece)) return piece.words.map(({ endMs }) => endMs ?? Number.POSITIVE_INFINITY);
  const anchors = anchorsOf(piece);
  let weight = 0;
  return piece.words.map((word) => {
    weight += word.weight;
    const next = anchors.findIndex((anchor) => anchor.weight >= weight - 0.001);
    const [from, to] = [anchors[next - 1], anchors[next]];
    if (!from || !to) return Number.POSITIVE_INFINITY;
    return timeOfVoicedMs(piece, from.voicedMs + ((weight - from.weight) / (to.weight - from.weight)) * (to.voicedMs - from.voicedMs));
  });
}

/** A place in a piece's text, by the weight before it, and in its voice. */
interface Anchor {
  readonly weight: number;
  readonly voicedMs: number;
}

/** The piece's beginning, its marks whose pauses were found, and its end as far as that can be told. */
function anchorsOf(piece: VoicedPiece): Anchor[] {
  const { letterMs } = piece.pace;
  const marks: number[] = [];
  let weight = 0;
  for (const word of piece.words) {
    weight += word.weight;
    if (word.mayPause) marks.push(weight);
  }
  let last: Anchor = { weight: 0, voicedMs: 0 };
  const anchors = [last];
  for (const voicedMs of pausesOf(piece)) {
    const off = (mark: number) => Math.abs(last.voicedMs + (mark - last.weight) * letterMs - voicedMs);
    const [mark] = marks.filter((at) => at > last.weight && at < weight).sort((one, other) => off(one) - off(other));
    if (mark === undefined || off(mark) > PAUSE_TOLERANCE * (voicedMs - last.voicedMs)) continue;
    last = { weight: mark, voicedMs };
    anchors.push(last);
  }
  const voiced = voicedMsOf(piece);
  anchors.push({ weight, voicedMs: piece.isComplete ? voiced : Math.max(voiced, last.voicedMs + (weight - last.weight) * letterMs) });
  return anchors;
}

/** Voiced time before each pause that lies between voices, ms. */
function pausesOf(piece: VoicedPiece): number[] {
  const pauses: number[] = [];
  let quietMs = 0;
  for (const { voicedMs } of piece.chunks)
    for (let frame = 1; frame < voicedMs.length; frame++) {
      const before = voicedMs[frame - 1] ?? 0;
      if (voicedMs[frame] === before) quietMs += FRAME_MS;
      else {
        if (quietMs >= PAUSE_MS && before > 0) pauses.push(before);
        quietMs = 0;
      }
    }
  return pauses;
}

function voicedMsOf({ chunks }: VoicedPiece): number {
  return chunks.at(-1)?.voicedMs.at(-1) ?? 0;
}

function weightOf({ words }: VoicedPiece): number {
  return words.reduce((sum, { weight }) => sum + weight, 0);
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

/** Appends audio, voiced or not in frames of 10 ms. */
export function addAudio(piece: VoicedPiece, legPieceId: number, samples: Int16Array, rateHz: number): void {
  const frame = Math.max(1, Math.round((rateHz * FRAME_MS) / 1_000));
  const energies: number[] = [];
  for (let start = 0; start < samples.length; start += frame) {
    let sum = 0;
    const end = Math.min(samples.length, start + frame);
    for (let index = start; index < end; index++) sum += Math.abs(samples[index] ?? 0);
    energies.push(sum / (end - start));
  }
  piece.loudest = Math.max(piece.loudest, ...energies);
  const floor = Math.max(1, piece.loudest * VOICED_PART);
  let voiced = voicedMsOf(piece);
  const voicedMs = [voiced];
  for (const energy of energies) {
    voiced += energy >= floor ? FRAME_MS : 0;
    voicedMs.push(voiced);
  }
  piece.chunks.push({ legPieceId, durationMs: (samples.length * 1_000) / rateHz, voicedMs });
}

/**
 * The playout queue of one leg: takes pieces of replies, produces exactly one frame per slot, and reports
 * every event (started, marks, paused, starved, finished, cleared) with its sample. Nothing is buffered
 * behind it, so a frame taken is a frame sent. Pure apart from its events; the clock is handed in.
 */
import type { LegCommand, LegEvent, PlayoutPosition } from './leg.ts';

/** One piece of a reply. */
export type PlayoutPiece = Omit<Extract<LegCommand, { do: 'play' }>, 'do'>;

/** Events of a playout queue. */
export type PlayoutEvent = Extract<LegEvent, { type: `playout.${string}` }>;

/** State of the last reply. */
interface Progress {
  position: PlayoutPosition;
  /** Its last sample was sent, or it was cleared. */
  isOver: boolean;
  isStarved: boolean;
  /** When its last sent sample ended. */
  atMs: number;
}

/** Plays the pieces of replies in order. */
export class Playout {
  readonly #rateHz: number;
  readonly #emit: (event: PlayoutEvent) => void;
  #queue: PlayoutPiece[] = [];
  /** Next sample and next mark of the first queued piece. */
  #sample = 0;
  #mark = 0;
  #isPaused = false;
  #progress: Progress | null = null;

  constructor(rateHz: number, emit: (event: PlayoutEvent) => void) {
    this.#rateHz = rateHz;
    this.#emit = emit;
  }

  /** Up to where the last reply was sent; null before the first. */
  get sentPosition(): PlayoutPosition | null {
    return this.#progress?.position ?? null;
  }

  /** Appends a piece. */
  play(piece: PlayoutPiece): void {
    this.#queue.push(piece);
  }

  /** Holds the queue from the next frame on; reports the first sample not sent. */
  pause(atMs: number): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#emit({
      type: 'playout.paused',
      atMs,
      position: this.#position() ?? { replyId: '', pieceId: 0, sample: 0 },
    });
  }

  /** Continues at the sample where the pause began. */
  resume(): void {
    this.#isPaused = false;
  }

  /** Clears the queue and ends a pause. */
  clear(atMs: number): void {
    const isIdle = this.#queue.length === 0 && (this.#progress?.isOver ?? true);
    this.#emit({ type: 'playout.cleared', atMs, position: isIdle ? null : this.#position() });
    this.#queue = [];
    this.#isPaused = false;
    this.#sample = 0;
    this.#mark = 0;
    if (this.#progress) this.#progress.isOver = true;
  }

  /** Fills `out` with the frame to send at `atMs`, or silence; returns the number of reply samples in it. */
  next(out: Int16Array, atMs: number): number {
    let filled = 0;
    while (!this.#isPaused && this.#queue.length > 0) {
      const piece = this.#queue[0] as PlayoutPiece;
      const count = Math.min(piece.samples.length - this.#sample, out.length - filled);
      if (count > 0) {
        this.#begin(piece, this.#timeAt(atMs, filled));
        for (let n = 0; n < count; n++) out[filled + n] = piece.samples[this.#sample + n] as number;
      }
      this.#advance(piece, count, this.#timeAt(atMs, filled));
      filled += count;
      if (this.#sample < piece.samples.length) break;
      this.#endPiece(piece, this.#timeAt(atMs, filled));
      if (filled === out.length) break;
    }
    if (filled === out.length) return filled;
    out.fill(0, filled);
    if (!this.#isPaused) this.#starve(this.#timeAt(atMs, filled));
    return filled;
  }

  #begin(piece: PlayoutPiece, atMs: number): void {
    const isRunning =
      this.#progress && !this.#progress.isOver && this.#progress.position.replyId === piece.replyId;
    if (!isRunning) {
      this.#progress = {
        position: { replyId: piece.replyId, pieceId: piece.pieceId, sample: 0 },
        isOver: false,
        isStarved: false,
        atMs,
      };
      this.#emit({ type: 'playout.started', atMs, replyId: piece.replyId });
    }
    if (this.#progress) this.#progress.isStarved = false;
  }

  /** Counts `count` samples as sent, the first at `atMs`, and reports the marks reached. */
  #advance(piece: PlayoutPiece, count: number, atMs: number): void {
    const from = this.#sample;
    this.#sample += count;
    const isWhole = this.#sample === piece.samples.length;
    for (; this.#mark < piece.marks.length; this.#mark++) {
      const offset = piece.marks[this.#mark] as number;
      // A mark beyond the piece is reached at its end.
      if (offset > this.#sample && !isWhole) break;
      const markMs = this.#timeAt(atMs, Math.max(0, Math.min(offset, this.#sample) - from));
      this.#emit({
        type: 'playout.mark',
        atMs: markMs,
        replyId: piece.replyId,
        pieceId: piece.pieceId,
        mark: this.#mark,
      });
    }
    if (count === 0 || !this.#progress) return;
    this.#progress.position = { replyId: piece.replyId, pieceId: piece.pieceId, sample: this.#sample };
    this.#progress.atMs = this.#timeAt(atMs, count);
  }

  #endPiece(piece: PlayoutPiece, atMs: number): void {
    this.#queue.shift();
    this.#sample = 0;
    this.#mark = 0;
    if (!piece.last) return;
    const progress = this.#progress?.position.replyId === piece.replyId ? this.#progress : null;
    if (progress) progress.isOver = true;
    // The empty last piece may come after the queue ran dry: the reply ended with its last sample.
    this.#emit({ type: 'playout.finished', atMs: progress ? progress.atMs : atMs, replyId: piece.replyId });
  }

  #starve(atMs: number): void {
    const progress = this.#progress;
    if (!progress || progress.isOver || progress.isStarved) return;
    progress.isStarved = true;
    this.#emit({ type: 'playout.starved', atMs, replyId: progress.position.replyId });
  }

  /** The first unsent sample of the queue, or else the end of what was sent last. */
  #position(): PlayoutPosition | null {
    const piece = this.#queue[0];
    const last = this.#progress?.position ?? null;
    // Between two pieces of a reply the position is the end of the sent piece.
    if (!piece || (this.#sample === 0 && last?.replyId === piece.replyId)) return last;
    return { replyId: piece.replyId, pieceId: piece.pieceId, sample: this.#sample };
  }

  #timeAt(atMs: number, samples: number): number {
    return atMs + (samples * 1000) / this.#rateHz;
  }
}

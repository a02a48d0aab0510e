/**
 * Pieces between a thread and a reader at its own pace. `onTaken` reports each piece read; the thread sends
 * only a few ahead.
 */
import type { AudioPiece, Transcript } from './speech-jobs.ts';

/** Listener of a job on a thread. */
export interface Listener {
  piece(piece: AudioPiece): void;
  over(transcript: Transcript | null): void;
  failed(error: Error): void;
}

/** The queue: a listener on one side, read once on the other. */
export class PieceQueue implements Listener {
  readonly #pieces: AudioPiece[] = [];
  readonly #onTaken: () => void;
  #end: { readonly error: Error | null } | null = null;
  #wake: () => void = () => {};

  constructor(onTaken: () => void) {
    this.#onTaken = onTaken;
  }

  piece(piece: AudioPiece): void {
    this.#pieces.push(piece);
    this.#wake();
  }

  over(): void {
    this.#end = { error: null };
    this.#wake();
  }

  failed(error: Error): void {
    this.#pieces.length = 0;
    this.#end = { error };
    this.#wake();
  }

  async *read(): AsyncGenerator<AudioPiece> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece) {
        this.#onTaken();
        yield piece;
      } else if (this.#end) {
        if (this.#end.error) throw this.#end.error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

/** Holds the words of one reply that claim to press keys, and those after them, until they are released. */
import type { Piece } from './piece-cutter.ts';

/** The words of one reply. */
export class ClaimGuard {
  readonly #claims: (text: string) => boolean;
  #held: Piece[] = [];
  #hasPressed = false;
  #isWritten = false;

  constructor(claims: (text: string) => boolean) {
    this.#claims = claims;
  }

  /** Keeps a piece that must not be said yet. */
  holds(piece: Piece): boolean {
    const isHeld = this.#held.length > 0 || (!this.#hasPressed && this.#claims(piece.text));
    if (isHeld) this.#held.push(piece);
    return isHeld;
  }

  /** The reply presses keys: what it says from now on is true. */
  press(): void {
    this.#hasPressed = true;
  }

  /** The pieces to say now. */
  release(): Piece[] {
    return this.#held.splice(0);
  }

  /** The model has finished. */
  end(): void {
    this.#isWritten = true;
  }

  /**
   * No more pieces are to be said. A reply that presses keys may end before its turn is taken, which releases
   * its held pieces.
   */
  get isOver(): boolean {
    return this.#isWritten && !(this.#hasPressed && this.#held.length > 0);
  }
}

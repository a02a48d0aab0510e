/**
 * Splits streamed text into parts to speak: whole sentences of a minimum length, and the rest at a flush.
 * Pure.
 */

/** End of a sentence with text after it, so that `3.` in `3.5` is none. */
const SENTENCE_END = /[.!?;:。！？]["')\]]*\s|\n/g;

/** The buffer of one live synthesis. */
export class LiveText {
  readonly #least: number;
  readonly #most: number;
  #buffer = '';

  /**
   * `least`: a shorter sentence waits for more text. `most`: a longer text without a sentence end is spoken
   * up to its last space.
   */
  constructor({ least, most }: { readonly least: number; readonly most: number }) {
    this.#least = least;
    this.#most = most;
  }

  /** Adds text; returns what to speak now, or null. */
  add(text: string): string | null {
    this.#buffer += text;
    let end = 0;
    for (const match of this.#buffer.matchAll(SENTENCE_END)) end = match.index + match[0].length;
    const isLong = this.#buffer.length > this.#most;
    if (end < this.#least && isLong) end = this.#buffer.lastIndexOf(' ') + 1;
    if (end >= Math.max(1, this.#least)) return this.#cut(end);
    // Limits how much text the next call scans again.
    return isLong ? this.#cut(this.#buffer.length) : null;
  }

  /** Returns the remaining text, or null. */
  flush(): string | null {
    return this.#buffer.trim() === '' ? null : this.#cut(this.#buffer.length);
  }

  #cut(end: number): string {
    const cut = this.#buffer.slice(0, end);
    this.#buffer = this.#buffer.slice(end);
    return cut;
  }
}

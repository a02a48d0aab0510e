/**
 * Text that comes piece by piece, given on in stretches worth speaking: whole sentences of some length,
 * everything at a flush. Pure.
 */

/** The end of a sentence that something follows, so that `3.` of `3.5` is none. */
const SENTENCE_END = /[.!?;:。！？]["')\]]*\s|\n/g;

/** The buffer of one live synthesis. */
export class LiveText {
  readonly #least: number;
  readonly #most: number;
  #buffer = '';

  /**
   * `least`: characters below which a sentence waits for more; `most`: characters beyond which a sentence
   * without an end is spoken up to its last space.
   */
  constructor({ least, most }: { readonly least: number; readonly most: number }) {
    this.#least = least;
    this.#most = most;
  }

  /** Takes text; returns what is to be spoken now, or null. */
  add(text: string): string | null {
    this.#buffer += text;
    let end = 0;
    for (const match of this.#buffer.matchAll(SENTENCE_END)) end = match.index + match[0].length;
    const isLong = this.#buffer.length > this.#most;
    if (end < this.#least && isLong) end = this.#buffer.lastIndexOf(' ') + 1;
    if (end >= Math.max(1, this.#least)) return this.#cut(end);
    // However it is put together, no more than that is looked through again with what comes next.
    return isLong ? this.#cut(this.#buffer.length) : null;
  }

  /** Everything that is left, or null. */
  flush(): string | null {
    return this.#buffer.trim() === '' ? null : this.#cut(this.#buffer.length);
  }

  #cut(end: number): string {
    const cut = this.#buffer.slice(0, end);
    this.#buffer = this.#buffer.slice(end);
    return cut;
  }
}

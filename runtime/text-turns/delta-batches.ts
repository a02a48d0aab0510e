/** Gathers a model's text for the worker link: models write a token at a time, faster than people read. */
import type { Clock, Timer } from '#base/clock.ts';

/** Longest delay of a piece of text, ms. */
const GATHER_MS = 40;
/** Text that is sent at once. */
const FULL_CHARS = 2_048;

/** The text of one turn on its way to its reader. */
export class DeltaBatches {
  readonly #clock: Clock;
  readonly #send: (text: string) => void;
  #text = '';
  #timer: Timer | null = null;

  constructor(clock: Clock, send: (text: string) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  add(text: string): void {
    this.#text += text;
    if (this.#text.length >= FULL_CHARS) this.flush();
    else this.#timer ??= this.#clock.after(GATHER_MS, () => this.flush());
  }

  /** Sends what has been gathered. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const text = this.#text;
    this.#text = '';
    if (text !== '') this.#send(text);
  }

  /** Drops what has not been sent. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#text = '';
  }
}

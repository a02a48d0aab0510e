/**
 * Ring buffer of the last seconds of a stream of samples. Separate blocks would be promoted to the old
 * generation and stay until a full collection, and each is a view of a buffer that holds the audio of other
 * calls, too.
 */

/** Begun with room for half a second of a phone's audio; doubled as it is needed. */
const FIRST_SAMPLES = 4_096;

/** Samples in the order they came; copied in, looked at where they lie. */
export class KeptAudio {
  #ring = new Int16Array(FIRST_SAMPLES);
  /** Where the oldest sample lies. */
  #start = 0;
  #length = 0;

  /** Samples kept. */
  get length(): number {
    return this.#length;
  }

  /** Appends samples. */
  push(samples: Int16Array): void {
    if (this.#length + samples.length > this.#ring.length) this.#grow(this.#length + samples.length);
    const at = (this.#start + this.#length) % this.#ring.length;
    const untilEnd = Math.min(samples.length, this.#ring.length - at);
    this.#ring.set(samples.subarray(0, untilEnd), at);
    this.#ring.set(samples.subarray(untilEnd), 0);
    this.#length += samples.length;
  }

  /** Drops all but the newest `count` samples. */
  keepNewest(count: number): void {
    const dropped = Math.max(0, this.#length - count);
    this.#start = (this.#start + dropped) % this.#ring.length;
    this.#length -= dropped;
  }

  /** The newest `count` samples (at most all) in order, as one view or two; good until the next `push`. */
  newest(count: number): Int16Array[] {
    const length = Math.min(count, this.#length);
    const from = (this.#start + this.#length - length) % this.#ring.length;
    const untilEnd = Math.min(length, this.#ring.length - from);
    return [this.#ring.subarray(from, from + untilEnd), this.#ring.subarray(0, length - untilEnd)].filter(
      (part) => part.length > 0,
    );
  }

  #grow(needed: number): void {
    const larger = new Int16Array(Math.max(needed, 2 * this.#ring.length));
    let at = 0;
    for (const part of this.newest(this.#length)) {
      larger.set(part, at);
      at += part.length;
    }
    this.#ring = larger;
    this.#start = 0;
  }
}

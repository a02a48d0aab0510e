/**
 * Ring buffer of the last seconds of a sample stream. Separate blocks would be promoted to the old generation
 * and stay until a full collection, and each is a view of a buffer shared with other calls.
 */

/** Initial room: half a second of phone audio; doubled on demand. */
const FIRST_SAMPLES = 4_096;

/** Samples in order of arrival; copied in, read in place. */
export class SampleRing {
  #ring = new Int16Array(FIRST_SAMPLES);
  /** Index of the oldest sample. */
  #start = 0;
  #length = 0;

  /** Samples stored. */
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

  /**
   * The newest `count` samples in order (at most all), as one or two views that are valid until the next
   * `push`.
   */
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

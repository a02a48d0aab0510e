/**
 * Maps a sender's RTP time to our clock by a minimum-delay filter: the fastest packets show when a timestamp
 * was due, and the lateness of the others is their jitter.
 */

/** Two half-windows: the minimum over the last 5–10 s follows clock drift without losing the fast packets. */
const HALF_WINDOW_MS = 5000;

/**
 * Smallest recent transit. "Transit" is arrival time minus RTP time, so only its differences have a meaning.
 */
export class TransitFilter {
  #previousMs = Number.POSITIVE_INFINITY;
  #currentMs = Number.POSITIVE_INFINITY;
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** Takes one packet (both times in ms); returns its lateness relative to the fastest. */
  observe(rtpMs: number, arrivalMs: number): number {
    if (arrivalMs - this.#sinceMs > HALF_WINDOW_MS) {
      this.#previousMs = this.#currentMs;
      this.#currentMs = Number.POSITIVE_INFINITY;
      this.#sinceMs = arrivalMs;
    }
    const transitMs = arrivalMs - rtpMs;
    this.#currentMs = Math.min(this.#currentMs, transitMs);
    return transitMs - this.minimumMs;
  }

  /** Arrival time of a packet with this RTP time if nothing delays it. */
  arrivalOf(rtpMs: number): number {
    return rtpMs + this.minimumMs;
  }

  /** Infinite until the first packet. */
  get minimumMs(): number {
    return Math.min(this.#previousMs, this.#currentMs);
  }

  /** Resets: the sender's timeline jumped. */
  reset(): void {
    this.#previousMs = Number.POSITIVE_INFINITY;
    this.#currentMs = Number.POSITIVE_INFINITY;
    this.#sinceMs = Number.NEGATIVE_INFINITY;
  }
}

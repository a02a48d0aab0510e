/**
 * Maps a sender's RTP time onto our clock by a minimum-delay filter: the packets that travelled fastest say
 * when a timestamp was due, and what the others are late by is their jitter.
 */

/**
 * Two half-windows: the minimum over the last 5–10 s follows clock drift without forgetting the fast packets.
 */
const HALF_WINDOW_MS = 5000;

/**
 * Smallest transit seen lately; "transit" is arrival time minus RTP time, so only differences of it mean
 * anything.
 */
export class TransitFilter {
  #previousMs = Number.POSITIVE_INFINITY;
  #currentMs = Number.POSITIVE_INFINITY;
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** Takes one packet (both times in ms); returns how much later it came than the fastest. */
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

  /** When a packet of this RTP time arrives if nothing delays it. */
  arrivalOf(rtpMs: number): number {
    return rtpMs + this.minimumMs;
  }

  /** Infinite until the first packet. */
  get minimumMs(): number {
    return Math.min(this.#previousMs, this.#currentMs);
  }

  /** Forgets everything: the sender's timeline jumped. */
  reset(): void {
    this.#previousMs = Number.POSITIVE_INFINITY;
    this.#currentMs = Number.POSITIVE_INFINITY;
    this.#sinceMs = Number.NEGATIVE_INFINITY;
  }
}

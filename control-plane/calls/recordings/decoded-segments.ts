/**
 * Segments of recordings that were decoded a moment ago. A player asks for one range after another: each
 * would fetch and decode a minute.
 */
import type { Clock } from '#base/clock.ts';

const KEPT_MS = 60_000;
/** Eleven minutes of a side at 48 kHz, an hour at 8 kHz. The newest one stays in any case. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The decoded segments of this process. */
export class DecodedSegments {
  readonly #clock: Pick<Clock, 'after'>;
  /** Least recently used first. */
  readonly #segments = new Map<string, Promise<Buffer | null>>();
  readonly #bytes = new Map<string, number>();

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** Decodes it, or waits for another request that does. What fails, or is not there, is tried again. */
  get(name: string, decode: () => Promise<Buffer | null>): Promise<Buffer | null> {
    const found = this.#segments.get(name);
    const segment = found ?? this.#decode(name, decode);
    this.#segments.delete(name);
    this.#segments.set(name, segment);
    return segment;
  }

  #decode(name: string, decode: () => Promise<Buffer | null>): Promise<Buffer | null> {
    const decoding = decode();
    decoding.then(
      (samples) => {
        if (!samples) return this.#forget(name);
        this.#bytes.set(name, samples.length);
        this.#clock.after(KEPT_MS, () => this.#forget(name));
        return this.#makeRoom();
      },
      () => this.#forget(name),
    );
    return decoding;
  }

  #makeRoom(): void {
    let bytes = [...this.#bytes.values()].reduce((sum, one) => sum + one, 0);
    for (const name of [...this.#segments.keys()].slice(0, -1)) {
      if (bytes <= MOST_BYTES) return;
      bytes -= this.#bytes.get(name) ?? 0;
      if (this.#bytes.has(name)) this.#forget(name);
    }
  }

  #forget(name: string): void {
    this.#segments.delete(name);
    this.#bytes.delete(name);
  }
}

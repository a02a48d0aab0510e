/** The leg that a call has left to its successor: it may still send silence, and gives its stream up. */
import type { Clock } from '#base/clock.ts';
import type { Leg, LegEvent, RestOfSent } from '#media/leg/leg.ts';
import { type Leaving, leaveForSuccessor, lingerMsOf } from './leave-for-successor.ts';

/** Time for the rest of the recordings, of this leg and of a person's, once the leg has closed. */
const RECORDING_WITHIN_MS = 2_000;

/** The left leg of one call. */
export class LeftLeg {
  readonly #clock: Clock;
  readonly #onRecording: (event: Extract<LegEvent, { type: 'recording' }>) => void;
  readonly #released = Promise.withResolvers<RestOfSent | null>();
  #leg: Leg | null = null;

  constructor(clock: Clock, onRecording: (event: Extract<LegEvent, { type: 'recording' }>) => void) {
    this.#clock = clock;
    this.#onRecording = onRecording;
  }

  /**
   * Leaves it; null if the call has none. Resolves at once, or, if the call was handed over, when the leg has
   * closed and its recording has come.
   */
  leave(leg: Leg | null, leaving: Leaving): Promise<void> {
    if (leg) leaveForSuccessor(leg, leaving);
    if (leaving === 'taken') return Promise.resolve();
    if (!leg) this.#released.resolve(null);
    this.#leg = leg;
    const { promise, resolve } = Promise.withResolvers<void>();
    const lingerMs = leg ? lingerMsOf(leg, leaving) : 0;
    const timer = this.#clock.after(lingerMs + RECORDING_WITHIN_MS, resolve);
    leg?.listen((events) => {
      for (const event of events) {
        this.#take(event);
        if (event.type !== 'closed') continue;
        timer.cancel();
        this.#clock.after(RECORDING_WITHIN_MS, resolve);
      }
    });
    return promise;
  }

  /** Resolves when the leg no longer sends: its successor does, or it has waited for it long enough. */
  async released(): Promise<void> {
    await this.#released.promise;
  }

  /** Gives the stream up to the successor, which is about to send; null if there is none. */
  releaseStream(): Promise<RestOfSent | null> {
    if (this.#leg?.kind !== 'rtp') return Promise.resolve(null);
    this.#leg.send({ do: 'releaseStream' });
    return this.#released.promise;
  }

  #take(event: LegEvent): void {
    if (event.type === 'recording') this.#onRecording(event);
    if (event.type === 'stream.released') this.#released.resolve(event.rest);
    if (event.type === 'closed') this.#released.resolve(null);
  }
}

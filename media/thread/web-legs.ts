/**
 * The process of the web calls, and the one that takes its place. LiveKit's native library keeps some memory
 * of each room for good: after `ROOMS_PER_PROCESS` rooms another process takes the new calls, and the former
 * one ends with its last call. The other process is started in advance, and replaces the first once it has
 * loaded everything; if it cannot, the first one goes on.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Leg } from '../leg/leg.ts';
import type { Transport } from '../leg/leg-factory.ts';
import type { OpenedLeg } from '../leg/transport-leg.ts';
import type { RemoteLegs } from './remote-legs.ts';
import type { ToMediaThread } from './thread-messages.ts';

/**
 * Half a megabyte each makes 100 MB. At most two processes run: while a former one still has calls, the
 * current one may have more rooms than this.
 */
const ROOMS_PER_PROCESS = 200;
/** A process that has not loaded everything by then is given up. */
const WARM_WITHIN_MS = 30_000;

/** Callbacks of a process (`RemoteLegsOptions`). */
export interface WebProcessListener {
  readonly onWarm: (isComplete: boolean) => void;
  readonly onEnded: (error: Error) => boolean;
}

/** Dependencies of the web calls. */
export interface WebLegsOptions {
  readonly start: (listener: WebProcessListener) => RemoteLegs;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly roomsPerProcess?: number | undefined;
}

/** The legs of web calls. */
export class WebLegs {
  readonly #options: WebLegsOptions;
  /** The transports that a replacement loads. */
  #transports = new Set<Transport>();
  #current: RemoteLegs;
  /** Replaces `#current` once it is warm. */
  #next: RemoteLegs | null = null;
  #nextTimer: Timer | null = null;
  /** Gets no calls, and is about to end: after those that it has. */
  #former: RemoteLegs | null = null;
  /** Joined by the current process, or since a replacement for it failed. */
  #rooms = 0;
  #speakUntilMs: number | null = null;
  /** The current process has loaded everything that `warmUp` was last called for. */
  #isReady = false;
  #isClosing = false;

  constructor(options: WebLegsOptions) {
    this.#options = options;
    this.#current = this.#start();
  }

  /** Opens a leg; `message` contains the number assigned to it. */
  async open(
    kind: Exclude<Leg['kind'], 'rtp' | 'stream'>,
    message: (leg: number) => ToMediaThread,
  ): Promise<{ leg: Leg; opened: OpenedLeg }> {
    const legs = this.#current;
    const result = await legs.open(kind, message);
    // One that cannot be loaded must not keep a replacement from taking over.
    this.#transports.add(kind);
    if (kind === 'livekit' && legs === this.#current) this.#countRoom();
    return result;
  }

  /** False while a leg would wait for something to be loaded, or if that is impossible. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Loads now what the first leg would wait for, and judges by that alone whether the process is ready. */
  warmUp(transports: readonly Transport[]): void {
    this.#isReady = false;
    this.#transports = new Set(transports);
    this.#current.warmUp(transports);
  }

  /** Sends no audio after this time. */
  speakUntil(untilMs: number): void {
    this.#speakUntilMs = untilMs;
    for (const legs of this.#all()) legs.speakUntil(untilMs);
  }

  /** Closes every leg and ends the processes. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#nextTimer?.cancel();
    await Promise.all(this.#all().map((legs) => legs.close()));
  }

  #all(): RemoteLegs[] {
    return [this.#current, this.#next, this.#former].filter((legs) => legs !== null);
  }

  #start(): RemoteLegs {
    const legs: RemoteLegs = this.#options.start({
      onWarm: (isComplete) => this.#warmed(legs, isComplete),
      onEnded: (error) => this.#ended(legs, error),
    });
    return legs;
  }

  #countRoom(): void {
    this.#rooms += 1;
    const { roomsPerProcess = ROOMS_PER_PROCESS } = this.#options;
    if (this.#rooms < roomsPerProcess || this.#next || this.#former || this.#isClosing) return;
    try {
      this.#prepareNext();
    } catch (error) {
      this.#putOff(error);
    }
  }

  #prepareNext(): void {
    const next = this.#start();
    this.#next = next;
    this.#nextTimer = this.#options.clock.after(WARM_WITHIN_MS, () =>
      this.#drop(next, new Error(`not ready within ${WARM_WITHIN_MS} ms`)),
    );
    if (this.#speakUntilMs !== null) next.speakUntil(this.#speakUntilMs);
    next.warmUp([...this.#transports]);
  }

  #warmed(legs: RemoteLegs, isComplete: boolean): void {
    if (legs === this.#current) this.#isReady = isComplete;
    if (legs !== this.#next || this.#isClosing) return;
    if (!isComplete) {
      this.#drop(legs, new Error('not everything could be loaded'));
      return;
    }
    const former = this.#current;
    this.#current = legs;
    this.#isReady = true;
    this.#rooms = 0;
    this.#endNext(former, () => former.retire());
  }

  /** Returns whether another is to take its place. */
  #ended(legs: RemoteLegs, error: Error): boolean {
    if (legs === this.#next) this.#drop(legs, error);
    if (legs !== this.#current) return false;
    this.#rooms = 0;
    this.#isReady = false;
    return true;
  }

  /** The current process goes on, and gets as many rooms as before until the next attempt. */
  #drop(next: RemoteLegs, error: Error): void {
    if (next !== this.#next || this.#isClosing) return;
    this.#putOff(error);
    this.#endNext(next, () => next.close());
  }

  #putOff(error: unknown): void {
    this.#rooms = 0;
    this.#options.logger.error({ err: error }, 'no other process can take the web calls; tried again later');
  }

  /** No process is being prepared any more; `leaving` ends. */
  #endNext(leaving: RemoteLegs, end: () => Promise<void>): void {
    this.#nextTimer?.cancel();
    this.#next = null;
    this.#former = leaving;
    void end().then(() => {
      this.#former = null;
    });
  }
}

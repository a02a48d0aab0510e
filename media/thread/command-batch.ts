/** Commands for the legs of one media thread or process, sent down in batches. */
import type { Clock, Timer } from '#base/clock.ts';
import type { LegCommand } from '../leg/leg.ts';
import type { AddressedCommand } from './thread-messages.ts';

/** Shortest time between batches; the first command after a pause is sent at once. */
const BATCH_MS = 5;

/** Collects commands. */
export class CommandBatch {
  readonly #clock: Clock;
  readonly #send: (commands: AddressedCommand[], transfer: ArrayBuffer[]) => void;
  #commands: AddressedCommand[] = [];
  #transfer: ArrayBuffer[] = [];
  #timer: Timer | null = null;
  #lastFlushMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, send: (commands: AddressedCommand[], transfer: ArrayBuffer[]) => void) {
    this.#clock = clock;
    this.#send = send;
  }

  /** Queues one command. The buffers of `transfer` move with it: the caller loses them. */
  add(leg: number, command: LegCommand, transfer: readonly ArrayBuffer[]): void {
    this.#commands.push({ leg, command });
    this.#transfer.push(...transfer);
    if (this.#timer) return;
    const waitMs = Math.max(0, this.#lastFlushMs + BATCH_MS - this.#clock.now());
    if (waitMs > 0) this.#timer = this.#clock.after(waitMs, () => this.flush());
    // At the end of the current callback, so that commands given together are sent together.
    else if (this.#commands.length === 1) queueMicrotask(() => this.flush());
  }

  /** Sends the queued commands. */
  flush(): void {
    this.#timer = null;
    if (this.#commands.length === 0) return;
    this.#lastFlushMs = this.#clock.now();
    const [commands, transfer] = [this.#commands, this.#transfer];
    this.clear();
    this.#send(commands, transfer);
  }

  /** Drops the queued commands. */
  clear(): void {
    this.#commands = [];
    this.#transfer = [];
  }

  /** Sends the queued commands and stops the timer. */
  close(): void {
    const timer = this.#timer;
    this.flush();
    timer?.cancel();
  }
}

/**
 * The process of the web calls, and the one that takes its place. LiveKit's native library keeps some memory
 * of each room for good: after `ROOMS_PER_PROCESS` rooms another process takes the new calls, and the former
 * one ends with its last call. Calls wait for neither: the other process is started in advance, and replaces
 * the first once it has loaded everything.
 */
import type { Leg } from '../leg/leg.ts';
import type { Transport } from '../leg/leg-factory.ts';
import type { OpenedLeg } from '../leg/transport-leg.ts';
import type { RemoteLegs } from './remote-legs.ts';
import type { ToMediaThread } from './thread-messages.ts';

/**
 * Half a megabyte each makes 100 MB; a start takes as much CPU time as three rooms. At most two processes
 * run: while a former one still has calls, the current one may have more rooms than this.
 */
const ROOMS_PER_PROCESS = 200;

/** Starts a process; `onWarm` is called when it has loaded what it was asked to. */
type StartProcess = (onWarm: () => void) => RemoteLegs;

/** The legs of web calls. */
export class WebLegs {
  readonly #start: StartProcess;
  readonly #roomsPerProcess: number;
  readonly #transports = new Set<Transport>();
  #current: RemoteLegs;
  /** Replaces `#current` once it is warm. */
  #next: RemoteLegs | null = null;
  /** Has calls of its own, and gets no more. */
  #former: RemoteLegs | null = null;
  #rooms = 0;
  #speakUntilMs: number | null = null;
  #isClosing = false;

  constructor(start: StartProcess, roomsPerProcess = ROOMS_PER_PROCESS) {
    this.#start = start;
    this.#roomsPerProcess = roomsPerProcess;
    this.#current = start(() => undefined);
  }

  /** Opens a leg; `message` contains the number assigned to it. */
  open(
    kind: Exclude<Leg['kind'], 'rtp'>,
    message: (leg: number) => ToMediaThread,
  ): Promise<{ leg: Leg; opened: OpenedLeg }> {
    this.#transports.add(kind);
    if (kind === 'livekit') this.#rooms += 1;
    const opening = this.#current.open(kind, message);
    if (this.#rooms >= this.#roomsPerProcess) this.#prepareNext();
    return opening;
  }

  /** Loads now what the first leg would wait for. */
  warmUp(transports: readonly Transport[]): void {
    for (const transport of transports) this.#transports.add(transport);
    this.#current.warmUp([...this.#transports]);
  }

  /** Sends no audio after this time. */
  speakUntil(untilMs: number): void {
    this.#speakUntilMs = untilMs;
    for (const legs of this.#all()) legs.speakUntil(untilMs);
  }

  /** Closes every leg and ends the processes. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.#all().map((legs) => legs.close()));
  }

  #all(): RemoteLegs[] {
    return [this.#current, this.#next, this.#former].filter((legs) => legs !== null);
  }

  #prepareNext(): void {
    if (this.#next || this.#former || this.#isClosing) return;
    const next = this.#start(() => this.#replaceBy(next));
    this.#next = next;
    if (this.#speakUntilMs !== null) next.speakUntil(this.#speakUntilMs);
    next.warmUp([...this.#transports]);
    next.started.catch(() => {
      // The next room tries again.
      if (this.#next === next) this.#next = null;
    });
  }

  #replaceBy(next: RemoteLegs): void {
    if (this.#next !== next || this.#isClosing) return;
    const former = this.#current;
    this.#current = next;
    this.#next = null;
    this.#former = former;
    this.#rooms = 0;
    void former.retire().then(() => {
      this.#former = null;
    });
  }
}

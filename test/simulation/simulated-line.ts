/**
 * The caller's way to the call over as many legs as it takes: connections break in mid-call and others take
 * their place.
 */
import type { Leg, LegCloseReason, LegEvent } from '#media/leg/leg.ts';
import type { Random } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';
import { type PlayedReply, SimulatedLeg, type SpokenWords } from './simulated-leg.ts';

/** A connection that broke. */
export interface Outage {
  readonly lostMs: number;
  /** Infinity: the caller did not come back. */
  readonly backMs: number;
  /** The agent was in the middle of something. */
  readonly wasTalking: boolean;
}

/** Everything the caller does goes through here, to whatever leg there is. */
export class SimulatedLine {
  readonly #over: Outage[] = [];
  readonly #legs: SimulatedLeg[] = [];
  readonly #clock: SimulatedClock;
  readonly #words: SpokenWords;
  readonly #latencyMs: number;
  readonly #kind: Leg['kind'];
  #isAbandoned = false;
  #hasLeft = false;
  #lost: { readonly lostMs: number; readonly wasTalking: boolean } | null = null;

  constructor(options: { clock: SimulatedClock; words: SpokenWords; random: Random; kind: Leg['kind'] }) {
    this.#clock = options.clock;
    this.#words = options.words;
    this.#kind = options.kind;
    this.#latencyMs = options.random.pick([0, 1, 5]);
  }

  /** Another leg, not yet connected. */
  open(): SimulatedLeg {
    const leg = new SimulatedLeg({
      clock: this.#clock,
      words: this.#words,
      latencyMs: this.#latencyMs,
      kind: this.#kind,
      isHeld: true,
    });
    this.#legs.push(leg);
    return leg;
  }

  /** The caller can be heard now. */
  connect(): void {
    if (this.#lost) this.#over.push({ ...this.#lost, backMs: this.#clock.now() });
    this.#lost = null;
    this.#leg.connect();
    if (this.#hasLeft) this.#leg.close('remote');
  }

  /** The connection breaks, unless one already has. */
  breakOff(): void {
    const { isTalking } = this.#leg;
    if (this.#lost) return;
    this.#lost = { lostMs: this.#clock.now(), wasTalking: isTalking };
    this.#leg.close('failed');
  }

  /** The worker dies: the caller hears and is heard by nobody until there is another leg. */
  abandon(): void {
    this.#lost ??= { lostMs: this.#clock.now(), wasTalking: this.#leg.isTalking };
    this.#leg.abandon();
    this.#isAbandoned = true;
  }

  tell(event: LegEvent): void {
    if (!this.#lost) this.#leg.tell(event);
  }

  close(reason: LegCloseReason): void {
    // Whoever comes back to a caller who has left is told so.
    this.#hasLeft ||= this.#lost !== null && this.#isAbandoned;
    this.#leg.close(reason);
  }

  get isTalking(): boolean {
    return this.#leg.isTalking;
  }

  get reachMs(): number {
    return this.#leg.reachMs;
  }

  get outages(): readonly Outage[] {
    return this.#lost ? [...this.#over, { ...this.#lost, backMs: Number.POSITIVE_INFINITY }] : this.#over;
  }

  /** What was played after that moment, on whichever leg, and what never was. */
  playedAfter(momentMs: number): readonly PlayedReply[] {
    return this.#legs
      .flatMap(({ played }) => played)
      .filter(({ startedMs }) => startedMs === null || startedMs > momentMs);
  }

  get violations(): readonly string[] {
    return this.#legs.flatMap(({ violations }) => violations);
  }

  /** When hold music began. */
  get musicMs(): readonly number[] {
    return this.#legs.flatMap(({ musicMs }) => musicMs);
  }

  get #leg(): SimulatedLeg {
    return this.#legs.at(-1) ?? this.open();
  }
}

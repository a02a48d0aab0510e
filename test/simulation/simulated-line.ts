/**
 * The caller's connection to the call over any number of legs: connections break in mid-call and others
 * replace them.
 */
import type { Leg, LegCloseReason, LegEvent } from '#media/leg/leg.ts';
import type { Random } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';
import { type PlayedReply, SimulatedLeg, type SpokenWords } from './simulated-leg.ts';

/** A lost connection. */
export interface Outage {
  readonly lostMs: number;
  /** Infinity: the caller did not return. */
  readonly backMs: number;
  /** The agent was talking. */
  readonly wasTalking: boolean;
}

/** Every act of the caller passes through here, to the current leg. */
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

  /** Opens another leg, not yet connected. */
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

  /** The caller can be heard from now on. */
  connect(): void {
    if (this.#lost) this.#over.push({ ...this.#lost, backMs: this.#clock.now() });
    this.#lost = null;
    this.#leg.connect();
    if (this.#hasLeft) this.#leg.close('remote');
  }

  /** The connection breaks, unless it is already lost. */
  breakOff(): void {
    const { isTalking } = this.#leg;
    if (this.#lost) return;
    this.#lost = { lostMs: this.#clock.now(), wasTalking: isTalking };
    this.#leg.close('failed');
  }

  /** The worker dies: the caller neither hears nor is heard until there is another leg. */
  abandon(): void {
    this.#lost ??= { lostMs: this.#clock.now(), wasTalking: this.#leg.isTalking };
    this.#leg.abandon();
    this.#isAbandoned = true;
  }

  emit(event: LegEvent): void {
    if (!this.#lost) this.#leg.emit(event);
  }

  close(reason: LegCloseReason): void {
    // If the caller left during a failover, the next leg closes as soon as it connects.
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

  /** What was played after that time, on any leg, and what was never played. */
  playedAfter(momentMs: number): readonly PlayedReply[] {
    return this.#legs
      .flatMap(({ played }) => played)
      .filter(({ startedMs }) => startedMs === null || startedMs > momentMs);
  }

  get violations(): readonly string[] {
    return this.#legs.flatMap(({ violations }) => violations);
  }

  /** When hold music started. */
  get musicMs(): readonly number[] {
    return this.#legs.flatMap(({ musicMs }) => musicMs);
  }

  /** When keys were pressed. */
  get pressed(): SimulatedLeg['pressed'] {
    return this.#legs.flatMap(({ pressed }) => pressed);
  }

  get #leg(): SimulatedLeg {
    return this.#legs.at(-1) ?? this.open();
  }
}

/**
 * One process of the simulated fleet: its view of the clock, and the gate through which everything reaches
 * it. A paused process gets what it missed when it goes on, in order; a dead one gets nothing.
 */
import type { Timer } from '#base/clock.ts';
import { TimerClock } from '#test/fakes/timer-clock.ts';
import type { SimulatedClock } from '../simulation/simulated-clock.ts';

/** A process. Its name is unique within the fleet. */
export class VirtualProcess extends TimerClock {
  readonly name: string;
  /** The machine it runs on. */
  readonly host: string;
  readonly #world: SimulatedClock;
  /** Difference of its wall clock from that of the world, ms. */
  #skewMs: number;
  #state: 'running' | 'paused' | 'dead' = 'running';
  #missed: (() => void)[] = [];

  constructor(
    world: SimulatedClock,
    facts: { readonly name: string; readonly host: string; readonly skewMs: number },
  ) {
    super();
    this.#world = world;
    this.name = facts.name;
    this.host = facts.host;
    this.#skewMs = facts.skewMs;
  }

  get isAlive(): boolean {
    return this.#state !== 'dead';
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  now(): number {
    return this.#world.now();
  }

  wallTime(): number {
    return this.#world.wallTime() + this.#skewMs;
  }

  after(ms: number, callback: () => void): Timer {
    let isCancelled = false;
    // Cancelled while it waits for a paused process: it must not fire.
    const timer = this.#world.after(ms, () =>
      this.enter(() => {
        if (!isCancelled) callback();
      }),
    );
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  /** Runs what arrives at the process: now, when it goes on, or never. */
  enter(work: () => void): void {
    if (this.#state === 'running') work();
    else if (this.#state === 'paused') this.#missed.push(work);
  }

  pause(): void {
    if (this.#state === 'running') this.#state = 'paused';
  }

  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'running';
    for (const work of this.#missed.splice(0)) this.#world.after(0, () => this.enter(work));
  }

  kill(): void {
    this.#state = 'dead';
    this.#missed = [];
  }

  /** Its wall clock jumps. */
  jump(ms: number): void {
    this.#skewMs += ms;
  }

  /** Sets its wall clock right. */
  synchronise(): void {
    this.#skewMs = 0;
  }
}

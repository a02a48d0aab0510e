/** A turn machine on its own timers, while the facts about caller, engines and leg come from a flight log. */
import type { TurnConfig } from '../turn/machine/turn-config.ts';
import type { TimerName, TurnInput } from '../turn/machine/turn-inputs.ts';
import type { MachineState, TurnMachine } from './machines/turn-machine.ts';
import type { ReplayedStep } from './replay.ts';

/** One run. */
export class FreeRun {
  readonly machine: TurnMachine;
  #state: MachineState;
  readonly #timers: Map<TimerName, number>;

  constructor(machine: TurnMachine, state: MachineState, timers: ReadonlyMap<TimerName, number> = new Map()) {
    this.machine = machine;
    this.#state = state;
    this.#timers = new Map(timers);
  }

  get state(): MachineState {
    return this.#state;
  }

  /** A copy that goes on from here with other settings; this run stays where it is. */
  fork(changes: Partial<TurnConfig> = {}): FreeRun {
    const state = { ...this.#state, config: { ...this.#state.config, ...changes } };
    return new FreeRun(this.machine, state, this.#timers);
  }

  /** Applies one input of the log, after every timer due before it. The log's own timers are skipped. */
  *take(input: TurnInput): Generator<ReplayedStep> {
    for (let due = this.#nextTimer(); due && due[1] <= input.atMs; due = this.#nextTimer()) {
      this.#timers.delete(due[0]);
      yield this.#step({ type: 'timer.fired', name: due[0], atMs: due[1] });
    }
    if (input.type !== 'timer.fired') yield this.#step(input);
  }

  #nextTimer(): [TimerName, number] | undefined {
    return [...this.#timers].sort(([, a], [, b]) => a - b)[0];
  }

  #step(input: TurnInput): ReplayedStep {
    const { state, effects } = this.machine.step(this.#state, input);
    this.#state = state;
    for (const effect of effects) {
      if (effect.do === 'startTimer') this.#timers.set(effect.name, Math.max(effect.atMs, input.atMs));
      else if (effect.do === 'stopTimer') this.#timers.delete(effect.name);
    }
    return { input, effects };
  }
}

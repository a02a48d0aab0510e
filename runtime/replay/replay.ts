/** Replays a flight log through its turn machine: equal inputs give equal effects. */
import type { ReadFlightLog } from '../turn/loop/flight-log.ts';
import type { Effect } from '../turn/machine/turn-effects.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import type { TurnMachine } from './machines/turn-machine.ts';

/** One input and its effects. */
export interface ReplayedStep {
  readonly input: TurnInput;
  readonly effects: readonly Effect[];
}

/** Replays a log in the machine that wrote it. Lazy: stop reading to stop the replay. */
export function* replay(log: ReadFlightLog, machine: TurnMachine): Generator<ReplayedStep> {
  let state = machine.initialState(log.header.config);
  for (const input of log.inputs) {
    const next = machine.step(state, input);
    state = next.state;
    yield { input, effects: next.effects };
  }
}

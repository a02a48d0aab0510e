/**
 * Replays a flight log through the turn machine: equal inputs give equal effects, and changed settings show
 * where the call would have differed.
 */
import type { ReadFlightLog } from '../turn/loop/flight-log.ts';
import type { TurnConfig } from '../turn/machine/turn-config.ts';
import type { Effect } from '../turn/machine/turn-effects.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import { step } from '../turn/machine/turn-machine.ts';
import { initialState } from '../turn/machine/turn-state.ts';

/** One input and its effects. */
export interface ReplayedStep {
  readonly input: TurnInput;
  readonly effects: readonly Effect[];
}

/** Replays a log; `changes` replace settings. Lazy: stop reading to stop the replay. */
export function* replay(log: ReadFlightLog, changes: Partial<TurnConfig> = {}): Generator<ReplayedStep> {
  let state = initialState({ ...log.header.config, ...changes });
  for (const input of log.inputs) {
    const next = step(state, input);
    state = next.state;
    yield { input, effects: next.effects };
  }
}

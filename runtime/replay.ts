/** Runs a flight log through the turn machine again: the same inputs give the same effects, and changed settings show where a call would have gone another way. */
import type { ReadFlightLog } from './flight-log.ts';
import type { TurnConfig } from './turn/turn-config.ts';
import type { Effect } from './turn/turn-effects.ts';
import type { TurnInput } from './turn/turn-inputs.ts';
import { step } from './turn/turn-machine.ts';
import { initialState } from './turn/turn-state.ts';

/** One input and what it led to. */
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

/**
 * Replays a flight log through the turn machine: equal inputs give equal effects, and changed settings show
 * where the call would have differed.
 */
import type { ReadFlightLog } from '../turn/loop/flight-log.ts';
import type { TurnConfig } from '../turn/machine/turn-config.ts';
import type { Effect } from '../turn/machine/turn-effects.ts';
import type { TurnInput } from '../turn/machine/turn-inputs.ts';
import { machineOf } from './machines/machine-of.ts';

/** One input and its effects. */
export interface ReplayedStep {
  readonly input: TurnInput;
  readonly effects: readonly Effect[];
}

/**
 * Replays a log in the machine that wrote it; `changes` replace settings. Lazy: stop reading to stop the
 * replay. Throws when no machine of its version is known.
 */
export function* replay(log: ReadFlightLog, changes: Partial<TurnConfig> = {}): Generator<ReplayedStep> {
  const { initialState, step } = machineOf(log.header.machine_version);
  let state = initialState({ ...log.header.config, ...changes });
  for (const input of log.inputs) {
    const next = step(state, input);
    state = next.state;
    yield { input, effects: next.effects };
  }
}

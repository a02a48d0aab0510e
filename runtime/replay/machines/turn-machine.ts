/** A turn machine of one version, and that of these sources. The page of an exported call runs it, too. */
import { REPLAYABLE_SETTINGS } from '#protocol/conversation-settings.ts';
import type { TurnConfig } from '../../turn/machine/turn-config.ts';
import type { Effect } from '../../turn/machine/turn-effects.ts';
import type { TurnInput } from '../../turn/machine/turn-inputs.ts';
import { step } from '../../turn/machine/turn-machine.ts';
import { initialState, TURN_MACHINE_VERSION } from '../../turn/machine/turn-state.ts';

/**
 * A state of some version: only these fields are the same in all of them. A state may be given to its own
 * machine only.
 */
export interface MachineState {
  readonly config: TurnConfig;
  readonly phase: { readonly is: string };
  readonly caller: { readonly is: string };
}

/** A turn machine of one version: a pure function with its first state. */
export interface TurnMachine {
  readonly version: number;
  /** Names of the settings of `conversation` that it takes. */
  readonly settings: readonly string[];
  /** The state of a call before its first input. Unknown fields of the configuration are ignored. */
  initialState(config: TurnConfig): MachineState;
  /** Handles one input; `state` is one of its own. */
  step(
    state: MachineState,
    input: TurnInput,
  ): { readonly state: MachineState; readonly effects: readonly Effect[] };
}

/** The machine of these sources. */
export const CURRENT_MACHINE = {
  version: TURN_MACHINE_VERSION,
  settings: REPLAYABLE_SETTINGS,
  initialState,
  step,
} as TurnMachine;

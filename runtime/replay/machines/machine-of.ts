/**
 * The turn machines that can run: that of these sources, and the frozen ones of earlier versions, each a
 * module of this folder (`npm run freeze:machine`) that is loaded on its first use.
 */
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
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
const CURRENT = {
  version: TURN_MACHINE_VERSION,
  settings: REPLAYABLE_SETTINGS,
  initialState,
  step,
} as TurnMachine;

const load = createRequire(import.meta.url);

/** The machine of a version. Throws an error that names the known versions. */
export function machineOf(version: number): TurnMachine {
  return version === TURN_MACHINE_VERSION ? CURRENT : frozenMachine(version);
}

/** The frozen machine of a version, even of this one. Throws an error that names the known versions. */
export function frozenMachine(version: number): TurnMachine {
  if (!frozenVersions().includes(version))
    throw new Error(
      `there is no turn machine of version ${version}; the known versions are ` +
        machineVersions().join(', '),
    );
  return load(`./v${version}.mjs`) as TurnMachine;
}

/** Throws an error that names the settings of `conversation` which a machine does not have yet. */
export function refuseUnknownSettings({ settings, version }: TurnMachine, names: readonly string[]): void {
  const unknown = names.filter((name) => !settings.includes(name));
  if (unknown.length > 0)
    throw new Error(
      `version ${version} of the turn machine, which ran the call, has no ${unknown.join(', ')}`,
    );
}

/** All versions that `machineOf` knows, ascending. */
export function machineVersions(): readonly number[] {
  return [...new Set([...frozenVersions(), TURN_MACHINE_VERSION])].sort((a, b) => a - b);
}

function frozenVersions(): readonly number[] {
  return readdirSync(import.meta.dirname).flatMap((name) => {
    const [, version] = /^v(\d+)\.mjs$/.exec(name) ?? [];
    return version === undefined ? [] : [Number(version)];
  });
}

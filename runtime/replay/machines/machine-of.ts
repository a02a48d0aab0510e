/**
 * The turn machines that can run: that of these sources, and the frozen ones of earlier versions, each a
 * module of this folder (`npm run freeze:machine`) that is loaded on its first use.
 */
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { memoised } from '#base/memoised.ts';
import type { ReadFlightLog } from '../../turn/loop/flight-log.ts';
import { CURRENT_MACHINE, type TurnMachine } from './turn-machine.ts';

const load = createRequire(import.meta.url);

/** The machine of a version. Throws an error that names the known versions. */
export function machineOf(version: number): TurnMachine {
  return version === CURRENT_MACHINE.version ? CURRENT_MACHINE : frozenMachine(version);
}

/** The machine that ran a part of a call. Throws as `machineOf` does. */
export function ownMachineOf({ header }: Pick<ReadFlightLog, 'header'>): TurnMachine {
  return machineOf(header.machine_version);
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

/** Those of the settings of `conversation` which a machine does not have yet. */
export function unknownSettings({ settings }: TurnMachine, names: readonly string[]): readonly string[] {
  return names.filter((name) => !settings.includes(name));
}

/** Throws an error that names the `unknownSettings`. */
export function refuseUnknownSettings(machine: TurnMachine, names: readonly string[]): void {
  const unknown = unknownSettings(machine, names);
  if (unknown.length > 0)
    throw new Error(
      `version ${machine.version} of the turn machine, which ran the call, has no ${unknown.join(', ')}`,
    );
}

/** All versions that `machineOf` knows, ascending. */
export function machineVersions(): readonly number[] {
  return [...new Set([...frozenVersions(), CURRENT_MACHINE.version])].sort((a, b) => a - b);
}

/** The folder is listed once: a rehearsal asks several times for each of thousands of calls. */
const versionsIn = memoised((folder: string): readonly number[] =>
  readdirSync(folder).flatMap((name) => {
    const [, version] = /^v(\d+)\.mjs$/.exec(name) ?? [];
    return version === undefined ? [] : [Number(version)];
  }),
);

function frozenVersions(): readonly number[] {
  return versionsIn(import.meta.dirname);
}

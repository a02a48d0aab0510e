/**
 * The turn machines that can run: that of these sources, and the frozen ones of earlier versions, each a
 * module of this folder (`npm run freeze:machine`) that is loaded on its first use.
 */
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { CURRENT_MACHINE, type TurnMachine } from './turn-machine.ts';

const load = createRequire(import.meta.url);

/** The machine of a version. Throws an error that names the known versions. */
export function machineOf(version: number): TurnMachine {
  return version === CURRENT_MACHINE.version ? CURRENT_MACHINE : frozenMachine(version);
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
  return [...new Set([...frozenVersions(), CURRENT_MACHINE.version])].sort((a, b) => a - b);
}

function frozenVersions(): readonly number[] {
  return readdirSync(import.meta.dirname).flatMap((name) => {
    const [, version] = /^v(\d+)\.mjs$/.exec(name) ?? [];
    return version === undefined ? [] : [Number(version)];
  });
}

/**
 * The packages of the agents in Python, which `.ci/comparison-python` installs into this user's cache folder:
 * one folder for each framework, because their dependencies differ.
 */
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { AgentProgram } from './agent-process.ts';

/** The name of the build in `.ci/comparison-python`, in the folder of `.ci/build-once`. */
const BUILD = 'parley-ci/built/comparison-python-1';
const AGENTS = join(import.meta.dirname, 'python-agents');

/** A framework in Python. */
export type Framework = 'livekit' | 'pipecat';

/** Why an agent of this framework cannot run, and what to do about it; null if it can. */
export function missingPython(framework: Framework): string | null {
  return existsSync(packagesOf(framework))
    ? null
    : 'its Python packages are not installed: run `.ci/comparison-python` (about 1 GB, some minutes)';
}

/** The program of an agent in `python-agents/`. */
export function pythonProgram(
  framework: Framework,
  file: string,
  args: readonly string[],
): Omit<AgentProgram, 'readyText'> {
  return {
    command: 'python3',
    args: [file, ...args],
    cwd: AGENTS,
    environment: {
      PYTHONPATH: packagesOf(framework),
      PYTHONUNBUFFERED: '1',
      PYTHONDONTWRITEBYTECODE: '1',
    },
  };
}

/** The installed version of a package; `name` as in the name of its metadata folder. */
export function pythonVersion(framework: Framework, name: string): string {
  const found = readdirSync(packagesOf(framework)).find(
    (entry) => entry.startsWith(`${name}-`) && entry.endsWith('.dist-info'),
  );
  return found?.slice(name.length + 1, -'.dist-info'.length) ?? 'unknown';
}

function packagesOf(framework: Framework): string {
  return join(buildFolder(), framework);
}

function buildFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), BUILD);
}

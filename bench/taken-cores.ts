/**
 * Takes a share of each core away while something is measured, as the other programs of a machine do. They
 * run before the product if they may (as root), except before what it schedules in real time.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, constants } from 'node:os';
import { join } from 'node:path';
import { setSessionPriority } from '#base/platform.ts';
import { cpuSeconds } from '#test/journeys/process-tree.ts';

const PROGRAM = join(import.meta.dirname, 'taken-core-process.ts');
const { PRIORITY_HIGHEST } = constants.priority;

/** Cores of which a share is being taken. */
export interface TakenCores {
  /** Gives them back. Returns the share that was taken of the least disturbed one, 0 to 1. */
  giveBack(): Promise<number>;
}

/** Starts taking a share, 0 to 1, of every core. Throws where `taskset` and `nice` are missing. */
export async function takeCores(share: number): Promise<TakenCores> {
  const takers = await Promise.all(
    Array.from({ length: availableParallelism() }, (_, core) => startTaker(core, share)),
  );
  const startMs = performance.now();
  const before = takers.map(usedSeconds);
  return {
    async giveBack() {
      const seconds = (performance.now() - startMs) / 1_000;
      const shares = takers.map((taker, index) => (usedSeconds(taker) - (before[index] ?? 0)) / seconds);
      await Promise.all(takers.map(end));
      return Math.min(...shares);
    },
  };
}

async function startTaker(core: number, share: number): Promise<ChildProcess> {
  const child = spawn(
    'nice',
    [
      ...['-n', String(PRIORITY_HIGHEST), 'taskset', '--cpu-list', String(core)],
      ...[process.execPath, PROGRAM, String(share)],
    ],
    // A session of its own has a priority of its own.
    { stdio: ['ignore', 'pipe', 'ignore'], detached: true },
  );
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => {
      throw new Error(`no process could be started on core ${core}`);
    }),
  ]);
  await setSessionPriority(child.pid ?? 0, PRIORITY_HIGHEST);
  return child;
}

function usedSeconds({ pid = 0 }: ChildProcess): number {
  return cpuSeconds([{ pid, commandLine: '' }]);
}

async function end(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}

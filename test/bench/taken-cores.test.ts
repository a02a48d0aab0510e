import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { takeCores } from '#bench/taken-cores.ts';
import { isRunning, processTree } from '#test/journeys/process-tree.ts';

const takers = () =>
  processTree(process.pid).filter(({ commandLine }) => commandLine.includes('taken-core-process'));

it('takes some of every core and never all of it, until the cores are given back', async () => {
  const taken = await takeCores(0.1);
  const running = takers();
  await sleep(1_000);
  const share = await taken.giveBack();
  expect(share).toBeGreaterThan(0);
  expect(share).toBeLessThan(1);
  expect(running.length).toBeGreaterThan(0);
  expect(running.filter(({ pid }) => isRunning(pid))).toEqual([]);
});

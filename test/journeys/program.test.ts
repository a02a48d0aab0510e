/** What journeys rely on when they signal programs. */
import { expect, it } from 'vitest';
import { signalTree } from './process-tree.ts';
import { Program } from './program.ts';

// SIGCONT, which harms nobody if it is sent after all.
it.each([1, 0, -1])('no signal is sent to the tree of process %i', (pid) => {
  expect(() => signalTree(pid, 'SIGCONT')).toThrow('not one of the product');
});

it('a program that could not be started says why, is not signalled and can be closed', async () => {
  const program = new Program('worker', {}, '/nowhere');
  await expect(program.printed(/ready/)).rejects.toThrow('ENOENT');
  program.signalTree('SIGCONT');
  await program.close();
});

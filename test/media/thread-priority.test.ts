import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { favourThisThread, preferThisThread, treatThisThreadAsOthers } from '#media/thread-priority.ts';

/** Whether this machine lets us run anything in real time. */
const allowsRealTime = spawnSync('chrt', ['--rr', '1', 'true']).status === 0;

afterEach(treatThisThreadAsOthers);

it('the media thread goes before the loops a conversation waits for, and they before the rest; where that is not allowed nothing changes', () => {
  treatThisThreadAsOthers();
  const others = getPriority();
  favourThisThread();
  const favoured = getPriority();
  preferThisThread();
  const preferred = getPriority();
  // A lower number goes first.
  expect(favoured).toBeLessThanOrEqual(others);
  expect(preferred).toBeLessThanOrEqual(favoured);
  treatThisThreadAsOthers();
  expect(getPriority()).toBe(others);
});

it.skipIf(!allowsRealTime)(
  'the thread of phone calls runs in real time, what it starts does not',
  async () => {
    const thread = new Worker(new URL('./real-time-thread.ts', import.meta.url));
    const [policies] = await once(thread, 'message');
    const [usual, roundRobin] = [0, 2];
    expect(policies).toEqual({ own: roundRobin, started: usual });
  },
);

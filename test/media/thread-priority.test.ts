import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, it } from 'vitest';
import { favourThisThread, preferThisThread, treatThisThreadAsOthers } from '#base/thread-priority.ts';

/** Whether this machine allows real-time scheduling. */
const allowsRealTime = spawnSync('chrt', ['--rr', '1', 'true']).status === 0;
const allowsPriorities = spawnSync('nice', ['-n', '-14', 'sh', '-c', '[ "$(nice)" = -14 ]']).status === 0;

afterEach(treatThisThreadAsOthers);

it('the media thread precedes the call loops, and they the rest; without permission nothing changes', () => {
  treatThisThreadAsOthers();
  const others = getPriority();
  favourThisThread();
  const favoured = getPriority();
  preferThisThread();
  const preferred = getPriority();
  // A lower number means a higher priority.
  expect(favoured).toBeLessThanOrEqual(others);
  expect(preferred).toBeLessThanOrEqual(favoured);
  treatThisThreadAsOthers();
  expect(getPriority()).toBe(others);
});

it.skipIf(!allowsRealTime)(
  'the thread for phone calls runs in real time, but threads it starts do not',
  async () => {
    const thread = new Worker(new URL('./real-time-thread.ts', import.meta.url));
    const [policies] = await once(thread, 'message');
    const [usual, roundRobin] = [0, 2];
    expect(policies).toEqual({ own: roundRobin, started: usual });
  },
);

it.skipIf(!allowsPriorities)(
  'a process loads libraries without precedence, and has it with all their threads once it serves',
  () => {
    const program = new URL('./loading-process.ts', import.meta.url);
    const { stdout } = spawnSync('nice', ['-n', '-7', process.execPath, fileURLToPath(program)]);
    expect(JSON.parse(stdout.toString())).toEqual({
      loading: { own: 0, started: 0 },
      serving: { own: -14, started: -14 },
    });
  },
);

/**
 * A thread like the one that serves phone calls: it runs in real time, starts another thread, and reports the
 * scheduling policy of each (proc(5), stat: `policy`).
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { runThisThreadInRealTime } from '#base/thread-priority.ts';

const POLICY_FIELD = 41;

if (workerData?.isStarted) parentPort?.postMessage(ownPolicy());
else {
  runThisThreadInRealTime();
  const own = ownPolicy();
  const [started] = await once(
    new Worker(new URL(import.meta.url), { workerData: { isStarted: true } }),
    'message',
  );
  parentPort?.postMessage({ own, started });
}

/** Fields follow the parenthesised name, which may contain spaces, starting with the third field. */
function ownPolicy(): number {
  const stat = readFileSync('/proc/thread-self/stat', 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[POLICY_FIELD - 3]);
}

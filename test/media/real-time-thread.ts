/**
 * A thread like that of phone calls: runs in real time, starts another thread, and tells by which rule of the
 * scheduler each of them is run (proc(5), stat: `policy`).
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { runThisThreadInRealTime } from '#media/thread-priority.ts';

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

/** Fields follow the name in parentheses, which may hold spaces, from the third on. */
function ownPolicy(): number {
  const stat = readFileSync('/proc/thread-self/stat', 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[POLICY_FIELD - 3]);
}

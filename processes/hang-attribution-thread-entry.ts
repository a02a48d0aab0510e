/**
 * A thread beside a worker's event loop: when the loop has worked on one session for a while, writes that
 * session's id where the supervisor reads it, and removes it when the loop continues. While the loop works on
 * no session it sleeps.
 */
import { workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { activityWriter } from './activity-file.ts';
import { COUNTER_BYTES, COUNTERS, type HangAttributionData, NAME_BYTES } from './hang-attribution.ts';

/** Well below the time after which a hung process is killed. */
const LOOK_MS = 250;

const { memory, fd } = workerData as HangAttributionData;
const counters = new Int32Array(memory, 0, COUNTER_BYTES / Int32Array.BYTES_PER_ELEMENT);
const named = new Uint8Array(memory, COUNTER_BYTES, NAME_BYTES);
const report = activityWriter(fd);
let lastChange = Atomics.load(counters, COUNTERS.changes);
let reported = '';

systemClock.every(LOOK_MS, () => {
  const change = Atomics.load(counters, COUNTERS.changes);
  const isSame = change === lastChange;
  const name = isSame ? text(named) : '';
  lastChange = change;
  const line = name === '' ? '' : `session ${name}`;
  if (line !== reported) report(line);
  reported = line;
  if (isSame && name === '') sleepAfter(change);
});

/** Sleeps until the loop turns to another session; not at all if it has done so since this change. */
function sleepAfter(change: number): void {
  Atomics.store(counters, COUNTERS.isAsleep, 1);
  if (Atomics.load(counters, COUNTERS.changes) === change) Atomics.wait(counters, COUNTERS.isAsleep, 1);
  Atomics.store(counters, COUNTERS.isAsleep, 0);
}

/** Padded with zeros. */
function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  // Copied first: shared memory cannot be decoded.
  return Buffer.from(bytes.slice(0, end < 0 ? bytes.length : end)).toString('utf8');
}

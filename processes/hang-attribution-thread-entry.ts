/**
 * A thread beside a worker's event loop: when the loop has worked on one session for a while, writes that
 * session's id where the supervisor reads it, and removes it when the loop continues.
 */
import { workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { activityWriter } from './activity-file.ts';
import { COUNT_BYTES, type HangAttributionData, NAME_BYTES } from './hang-attribution.ts';

/** Well below the time after which a hung process is killed. */
const LOOK_MS = 250;

const { memory, fd } = workerData as HangAttributionData;
const count = new Int32Array(memory, 0, 1);
const named = new Uint8Array(memory, COUNT_BYTES, NAME_BYTES);
const report = activityWriter(fd);
let lastCount = Atomics.load(count, 0);
let reported = '';

systemClock.every(LOOK_MS, () => {
  const now = Atomics.load(count, 0);
  const name = now === lastCount ? text(named) : '';
  lastCount = now;
  const line = name === '' ? '' : `session ${name}`;
  if (line !== reported) report(line);
  reported = line;
});

/** Padded with zeros. */
function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  // Copied first: shared memory cannot be decoded.
  return Buffer.from(bytes.slice(0, end < 0 ? bytes.length : end)).toString('utf8');
}

/**
 * The thread beside a worker's event loop: when the loop has been in one session's work for a while, it
 * writes that session's name where the supervisor reads it, and takes it away when the loop goes on.
 */
import { workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { activityWriter } from './activity-file.ts';
import { COUNT_BYTES, NAME_BYTES, type SessionTurnsData } from './session-turns.ts';

/** Well below the time after which a process that stands still is killed. */
const LOOK_MS = 250;

const { memory, fd } = workerData as SessionTurnsData;
const count = new Int32Array(memory, 0, 1);
const named = new Uint8Array(memory, COUNT_BYTES, NAME_BYTES);
const tell = activityWriter(fd);
let lastCount = Atomics.load(count, 0);
let told = '';

systemClock.every(LOOK_MS, () => {
  const now = Atomics.load(count, 0);
  const name = now === lastCount ? text(named) : '';
  lastCount = now;
  const line = name === '' ? '' : `session ${name}`;
  if (line !== told) tell(line);
  told = line;
});

/** What is filled up with zeros. */
function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  // Copied first: what is shared cannot be decoded.
  return Buffer.from(bytes.slice(0, end < 0 ? bytes.length : end)).toString('utf8');
}

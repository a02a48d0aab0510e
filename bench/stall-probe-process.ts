/**
 * Watches one core, run before everything else on it (`chrt`, `taskset`): whenever it is woken late, the core
 * stood still under the whole machine, and it prints from when to when (ms since 1970).
 */
import { writeSync } from 'node:fs';

const PERIOD_MS = 1;
/** What a timer may be late on a machine that runs. */
const LATE_MS = 1;

const never = new Int32Array(new SharedArrayBuffer(4));
writeSync(1, '\n');
for (;;) {
  const before = performance.now();
  Atomics.wait(never, 0, 0, PERIOD_MS);
  const lateMs = performance.now() - before - PERIOD_MS;
  if (lateMs < LATE_MS) continue;
  const now = Date.now();
  writeSync(1, `${now - lateMs} ${now + 1}\n`);
}

/**
 * Watches one core with a higher priority than everything else on it (`chrt`, `taskset`). A late wake-up
 * means that the core stalled; the process then prints the start and end of the stall (ms since 1970).
 */
import { writeSync } from 'node:fs';

const PERIOD_MS = 1;
/** Timer delay that is normal without a stall. */
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

/**
 * Watches one core with a higher priority than everything else on it (`chrt`, `taskset`). A late wake-up
 * means that the core stalled; the process then prints the start and end of the stall (ms since 1970).
 */
import { writeSync } from 'node:fs';
import { holdThread } from '#base/hold-thread.ts';

const PERIOD_MS = 1;
/** Timer delay that is normal without a stall. */
const LATE_MS = 1;

writeSync(1, '\n');
for (;;) {
  const before = performance.now();
  holdThread(PERIOD_MS);
  const lateMs = performance.now() - before - PERIOD_MS;
  if (lateMs < LATE_MS) continue;
  const now = Date.now();
  writeSync(1, `${now - lateMs} ${now + 1}\n`);
}

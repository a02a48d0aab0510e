/**
 * Keeps one core (`taskset`) busy for a share of the time, given as the argument, in short pieces. Counts its
 * own CPU time: what other programs take from it is made up for, as far as that needs no long piece.
 */
import { writeSync } from 'node:fs';
import { holdThread } from '#base/hold-thread.ts';

const PERIOD_MS = 10;
/** Longest piece, as a multiple of the usual one. */
const MOST_PIECES = 2;

const share = Number(process.argv[2]);
const starter = process.ppid;
const startMs = performance.now();
const startUsedMs = usedMs();
writeSync(1, '\n');
while (process.ppid === starter) {
  const dueMs = share * (performance.now() - startMs) - (usedMs() - startUsedMs);
  let atMs = usedMs();
  const untilMs = atMs + Math.min(dueMs, MOST_PIECES * share * PERIOD_MS);
  while (atMs < untilMs) atMs = usedMs();
  holdThread(PERIOD_MS - ((performance.now() - startMs) % PERIOD_MS));
}

function usedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

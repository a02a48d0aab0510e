/**
 * Measures how long this disk takes to make a small write durable: the lower bound for every latency of the
 * embedded store.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { quantile } from '#caller/statistics.ts';

const WRITES = 200;
const WRITE_BYTES = 4_096;

/** Median of fdatasync after a 4 KiB append, ms. */
export function fdatasyncP50Ms(): number {
  const folder = mkdtempSync(join(tmpdir(), 'bench-disk-'));
  const file = openSync(join(folder, 'probe'), 'w');
  const page = Buffer.alloc(WRITE_BYTES, 1);
  const times = Array.from({ length: WRITES }, () => {
    const startedMs = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    return performance.now() - startedMs;
  });
  closeSync(file);
  rmSync(folder, { recursive: true, force: true });
  return quantile(times, 0.5);
}

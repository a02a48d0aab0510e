/**
 * Throughput and latency of the embedded database through the driver, as the product uses it: `node
 * bench/store.ts [documents]`. Measures creates, reads by key, pages, guarded updates and counts, with one
 * caller and with many, then guarded updates during a long analytics query. Budget: p99 of a write ≤ 10 ms +
 * 5 × the disk's fdatasync p50, also during an analytics query.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { quantile } from '#caller/statistics.ts';
import { openDatabase } from '#control-plane/platform/store/database.ts';

interface Doc {
  _id: string;
  team: string;
  created: Date;
  n: number;
  text: string;
}

const documents = Number(process.argv[2] ?? 20_000);
const WRITES_PER_SECOND = 200;
const directory = mkdtempSync(join(tmpdir(), 'parley-bench-'));
const fdatasyncMs = measureFdatasync(join(directory, 'probe'));
const logger = createLogger({ level: 'silent', name: 'bench' });
const onFatal = (error: Error) => {
  throw error;
};
const database = await openDatabase({
  mongodbUrl: process.env['MONGODB_URL'],
  dataDir: directory,
  clock: systemClock,
  logger,
  onFatal,
});
const calls = database.connection.collection<Doc>(`bench_${process.pid}`);
await calls.createIndexes([{ key: { team: 1, created: -1, _id: -1 } }, { key: { n: 1 } }]);

console.log(`${database.kind}, ${documents} documents; fdatasync p50 ${fdatasyncMs.toFixed(2)} ms`);
console.log('operation                        callers      per s    p50 ms    p99 ms');
let created = 0;
const document = (): Doc => ({
  _id: `c${created++}`,
  team: `t${created % 50}`,
  created: new Date(created),
  n: created,
  text: 'x'.repeat(250),
});
for (let done = 0; done < documents; done += 1_000)
  await calls.insertMany(Array.from({ length: Math.min(1_000, documents - done) }, document));

const someId = () => `c${Math.floor(Math.random() * documents)}`;
const create = () => calls.insertOne(document());
const guardedUpdate = () =>
  calls.findOneAndUpdate({ _id: someId(), n: { $gte: 0 } }, { $inc: { n: 1 } }, { returnDocument: 'after' });
for (const callers of [1, 32]) {
  await measure('create', callers, create);
  await measure('find by key', callers, () => calls.findOne({ _id: someId() }));
  await measure('guarded update', callers, guardedUpdate);
}
await measure('page of 20, compound sort', 8, () =>
  calls.find({ team: 't7' }).sort({ created: -1, _id: -1 }).limit(20).toArray(),
);
await measure('count in an index', 8, () => calls.countDocuments({ team: 't7' }));
await measureBesideAnalytics();
await calls.drop();
await database.close();
rmSync(directory, { recursive: true, force: true });

async function measure(
  name: string,
  callers: number,
  operation: () => Promise<unknown>,
  seconds = 2,
): Promise<void> {
  const latencies: number[] = [];
  const startMs = systemClock.now();
  const endMs = startMs + seconds * 1_000;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (let beganMs = systemClock.now(); beganMs < endMs; beganMs = systemClock.now()) {
        await operation();
        latencies.push(systemClock.now() - beganMs);
      }
    }),
  );
  print(name, callers, latencies, systemClock.now() - startMs);
}

/** Creates documents at a steady rate while a full scan runs repeatedly. */
async function measureBesideAnalytics(): Promise<void> {
  const latencies: number[] = [];
  const pending: Promise<unknown>[] = [];
  let isRunning = true;
  let queries = 0;
  const analytics = (async () => {
    for (; isRunning; queries++)
      await calls
        .aggregate([{ $match: { text: /y/ } }, { $group: { _id: '$team', n: { $sum: 1 } } }])
        .toArray();
  })();
  const startMs = systemClock.now();
  for (let index = 0; index < WRITES_PER_SECOND * 5; index++) {
    await systemClock.sleep(Math.max(0, startMs + (index * 1_000) / WRITES_PER_SECOND - systemClock.now()));
    const beganMs = systemClock.now();
    pending.push(create().then(() => latencies.push(systemClock.now() - beganMs)));
  }
  await Promise.all(pending);
  isRunning = false;
  await analytics;
  print(`create beside ${queries} scans`, 1, latencies, systemClock.now() - startMs);
  const budgetMs = 10 + 5 * fdatasyncMs;
  const p99Ms = quantile(latencies, 0.99);
  console.log(
    `budget: p99 ${p99Ms.toFixed(1)} ms ${p99Ms <= budgetMs ? '≤' : '>'} ${budgetMs.toFixed(1)} ms`,
  );
}

function print(name: string, callers: number, latencies: readonly number[], elapsedMs: number): void {
  const perSecond = Math.round((latencies.length / elapsedMs) * 1_000);
  const columns = [name.padEnd(30), String(callers).padStart(9), String(perSecond).padStart(10)];
  console.log(
    [
      ...columns,
      quantile(latencies, 0.5).toFixed(2).padStart(9),
      quantile(latencies, 0.99).toFixed(2).padStart(9),
    ].join(' '),
  );
}

/** Time the disk takes to make one small write durable. */
function measureFdatasync(path: string): number {
  const file = openSync(path, 'w');
  const times = Array.from({ length: 50 }, () => {
    writeSync(file, 'x'.repeat(4_096));
    const beganMs = systemClock.now();
    fdatasyncSync(file);
    return systemClock.now() - beganMs;
  });
  closeSync(file);
  return quantile(times, 0.5);
}

/** Runs a simulation with many seeds on every processor: threads of the same file get batches of seeds. */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parentPort, Worker } from 'node:worker_threads';

/** Failures after which further ones add no information. */
const ENOUGH_FAILURES = 20;

/** Runs with consecutive seeds. */
export interface Batch {
  readonly from: number;
  readonly runs: number;
}

/** What each batch returns at least. */
interface Found {
  readonly failures: readonly string[];
}

/** How a simulation is divided and reported. */
export interface BatchPlan<Batched extends Found> {
  /** The file whose threads run the batches: it calls `serveBatches` there. */
  readonly file: string;
  /** Runs a thread gets at a time, and runs between progress messages. */
  readonly batch: number;
  readonly progress: number;
  /** The name of the runs in progress messages. */
  readonly noun: string;
  /** Threads that run them; absent: one for each processor. */
  readonly threads?: number | undefined;
  readonly onFound: (found: Batched) => void;
}

/** Answers the batches that `runBatches` sends to this thread. */
export function serveBatches(runBatch: (batch: Batch) => Promise<Found>): void {
  parentPort?.on(
    'message',
    (batch: Batch) => void runBatch(batch).then((found) => parentPort?.postMessage(found)),
  );
}

/**
 * Runs these seeds until all are done or enough have failed. Returns the number of runs that were done and
 * the time they took, in seconds with one decimal. Sets the exit code.
 */
export async function runBatches<Batched extends Found>(
  { from, runs }: Batch,
  { file, batch: size, progress, noun, threads = availableParallelism(), onFound }: BatchPlan<Batched>,
): Promise<{ readonly done: number; readonly seconds: string; readonly failures: readonly string[] }> {
  const startedMs = performance.now();
  const failures: string[] = [];
  const end = from + runs;
  let next = from;
  let done = 0;
  const secondsSince = () => ((performance.now() - startedMs) / 1000).toFixed(1);
  const work = async () => {
    const thread = new Worker(new URL(file));
    while (next < end && failures.length < ENOUGH_FAILURES) {
      const batch = { from: next, runs: Math.min(size, end - next) };
      next += batch.runs;
      const found: Batched = await runIn(thread, batch);
      failures.push(...found.failures);
      onFound(found);
      const before = done;
      done += batch.runs;
      if (Math.floor(before / progress) < Math.floor(done / progress))
        console.log(`${done} of ${runs} ${noun} in ${secondsSince()} s`);
    }
    await thread.terminate();
  };
  await Promise.all(Array.from({ length: threads }, work));
  process.exitCode = failures.length === 0 ? 0 : 1;
  return { done, seconds: secondsSince(), failures };
}

/** Runs one batch in a thread that is reused for the next: its modules are loaded and compiled once. */
async function runIn<Batched extends Found>(thread: Worker, batch: Batch): Promise<Batched> {
  thread.postMessage(batch);
  // Rejects with the thread's error.
  const [found] = await once(thread, 'message');
  return found;
}

/**
 * `npm run simulate -- --calls 10000 [--from 1]` runs simulated calls on every processor and prints the ones that broke an invariant;
 * `npm run simulate -- --seed 17` shows one call as a timeline: each input of the turn machine and what it led to;
 * with `--dies-after 40` its worker dies after so many steps, and what follows on the next one is shown.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { readFlightLog } from '#runtime/flight-log.ts';
import { replay } from '#runtime/replay.ts';
import { gapsOf } from './gaps.ts';
import { violations } from './invariants.ts';
import { type Given, simulateCall } from './simulate-call.ts';
import { type AnsweredTwice, answeredTwice, FIRST_TOKEN_MS, medianSaving } from './speculation.ts';

/** Calls a thread is given at a time, and failures after which the rest tells nothing new. */
const BATCH = 100;
const ENOUGH_FAILURES = 20;
/** Of each batch this many calls run again with and without speculation. */
const TWICE = 20;

/** What a batch found. */
interface Found {
  readonly failures: string[];
  /** What the agent kept callers waiting for, ms, for each gap over 700 ms. */
  readonly awaitedMs: number[];
  readonly answered: AnsweredTwice[];
}

if (isMainThread) await main();
else parentPort?.postMessage(await runBatch(workerData as number, BATCH));

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      calls: { type: 'string', default: '10000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      'dies-after': { type: 'string' },
    },
  });
  const diesAfterSteps = values['dies-after'];
  if (values.seed !== undefined) await show(Number(values.seed), diesAfterSteps === undefined ? {} : { diesAfterSteps: Number(diesAfterSteps) });
  else await runAll(Number(values.from), Number(values.calls));
}

/** Runs the calls with these seeds. */
async function runBatch(from: number, calls: number): Promise<Found> {
  const found: Found = { failures: [], awaitedMs: [], answered: [] };
  for (let seed = from; seed < from + calls; seed++) {
    const call = await simulateCall(seed);
    for (const violation of violations(call)) found.failures.push(`${violation}\n    npm run simulate -- --seed ${seed}`);
    found.awaitedMs.push(...gapsOf(call).flatMap(({ awaitedMs, isExcused }) => (isExcused ? [] : [awaitedMs])));
  }
  for (let seed = from; seed < from + TWICE; seed++) found.answered.push(...(await answeredTwice(seed)));
  return found;
}

async function runAll(from: number, calls: number): Promise<void> {
  const startedMs = performance.now();
  const all: Found = { failures: [], awaitedMs: [], answered: [] };
  let next = from;
  const work = async () => {
    while (next < from + calls && all.failures.length < ENOUGH_FAILURES) {
      const batch = next;
      next += BATCH;
      const { answered, awaitedMs, failures } = await inThread(batch);
      all.failures.push(...failures);
      all.awaitedMs.push(...awaitedMs);
      all.answered.push(...answered);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  const { answered, awaitedMs, failures } = all;
  for (const failure of failures) console.log(failure);
  const longestMs = awaitedMs.reduce((longest, ms) => Math.max(longest, ms), 0);
  console.log(`${awaitedMs.length} gaps over 700 ms, the longest wait for the agent ${longestMs.toFixed(0)} ms`);
  console.log(
    `speculation: in ${answered.length} turns the median answer came ${medianSaving(answered).toFixed(0)} ms sooner (the model's first token: ${FIRST_TOKEN_MS} ms)`,
  );
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  console.log(`${next - from} calls in ${seconds} s, ${failures.length === 0 ? 'every invariant held' : `${failures.length} broken invariants`}`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}

function inThread(batch: number): Promise<Found> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL(import.meta.url), { workerData: batch });
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}

async function show(seed: number, given: Given): Promise<void> {
  const call = await simulateCall(seed, given);
  for (const { input, effects } of replay(readFlightLog(call.flightLog)[0])) {
    const { atMs, type, ...facts } = input;
    console.log(`${atMs.toFixed(0).padStart(7)} ${type} ${JSON.stringify(facts)}`);
    for (const { do: what, ...effect } of effects)
      if (what !== 'startTimer' && what !== 'stopTimer') console.log(`${' '.repeat(10)}→ ${what} ${JSON.stringify(effect).slice(0, 220)}`);
  }
  for (const { replyId, startedMs, words } of call.played) console.log(`played ${replyId} from ${startedMs}: ${words.join(' ')}`);
  const broken = violations(call);
  console.log(broken.length === 0 ? 'every invariant held' : broken.join('\n'));
  process.exitCode = broken.length === 0 ? 0 : 1;
}

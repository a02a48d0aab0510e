/**
 * `npm run bench:long-run [calls]`: 10,000 short inbound phone calls (or the given number) at 20 a second,
 * and the memory of the product after each tenth of them, once it has done what these calls left to do.
 * Budget: at the end 3 % more than after the first tenth, which compiles code. The second half has no
 * part in filling the page cache of the embedded database.
 */
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import { type Process, proportionalBytes, usedCores } from '#test/journeys/process-tree.ts';
import { startProduct } from '#test/journeys/product.ts';
import { CALLS_PER_SECOND, createMeasuredAgent } from './call-load.ts';
import { judge, toText } from './figures.ts';
import { startStandIns } from './stand-ins.ts';

const NUMBER = '+15550100044';
const PORTS = { first: 42_000, last: 42_599 };
const PARTS = 10;
const MOST_GROWTH_PERCENT = 3;
const MIB = 1_048_576;
/** A product at rest uses less of a core; ended calls are measured and summed up for some minutes. */
const REST_CORES = 0.02;
const REST_OVER_MS = 10_000;
const MOST_RESTS = 60;
/** Samples of memory after that, until threads at rest have collected: the least of them counts. */
const SAMPLES = 40;
const SAMPLE_EVERY_MS = 1_000;
/** The caller hears the greeting and hangs up. */
const SCENE = prepareScene({
  name: 'greeting',
  seed: 1,
  steps: [{ do: 'listen', quiet_ms: 500, timeout_ms: 6_000 }],
});

const calls = Number(process.argv[2] ?? 10_000);
if (!Number.isInteger(calls) || calls < PARTS) throw new Error(`name how many calls, ${PARTS} or more`);
const standIns = await startStandIns();
const product = await startProduct({
  environment: { ...standIns.environment, STARTING_CREDIT: '1000000.00', LOG_LEVEL: 'warn' },
});
try {
  await createMeasuredAgent(product, NUMBER);
  const caller = new PhoneCaller({ ports: PORTS });
  const target = product.sipAddress(NUMBER);
  const memory: number[] = [];
  let refused = 0;
  for (let part = 1; part <= PARTS; part++) {
    refused += await placeCalls(caller, target, calls / PARTS);
    memory.push(await restingBytes(product.processes()));
    console.log(`${(calls / PARTS) * part} calls: ${((memory.at(-1) ?? 0) / MIB).toFixed(1)} MiB`);
  }
  const growthSince = (part: number) => 100 * ((memory.at(-1) ?? 0) / (memory[part - 1] ?? 1) - 1);
  const load = `${calls} calls, after ${calls / PARTS} of them ${((memory[0] ?? 0) / MIB).toFixed(0)} MiB`;
  const figures = [
    judge({ what: 'calls refused or dropped', load, unit: 'calls', samples: calls, digits: 0 }, [
      { name: '', value: refused, limit: 0 },
    ]),
    judge({ what: 'growth of memory', load, unit: '%', samples: PARTS }, [
      { name: '', value: growthSince(1), limit: MOST_GROWTH_PERCENT },
    ]),
    judge({ what: 'growth of memory in the second half', load, unit: '%', samples: PARTS / 2 }, [
      { name: '', value: growthSince(PARTS / 2), limit: MOST_GROWTH_PERCENT },
    ]),
  ];
  console.log(`\n${toText(figures)}\n`);
  process.exitCode = figures.every(({ verdict }) => verdict === 'met') ? 0 : 1;
} finally {
  await product.close();
  await standIns.close();
}

/** Places calls evenly; returns how many did not end with the caller's hang-up. */
async function placeCalls(caller: PhoneCaller, target: string, count: number): Promise<number> {
  const outcomes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, (1_000 * index) / CALLS_PER_SECOND));
      const { outcome } = await caller.call({ target, scene: SCENE });
      return outcome;
    }),
  );
  return outcomes.filter((outcome) => outcome.type !== 'answered' || outcome.endedBy !== 'caller').length;
}

/** Waits for what the calls leave to do; then the memory of all processes, bytes. */
async function restingBytes(processes: readonly Process[]): Promise<number> {
  for (let rest = 0; rest < MOST_RESTS && (await usedCores(processes, REST_OVER_MS)) > REST_CORES; rest++);
  let least = Number.POSITIVE_INFINITY;
  for (let sample = 0; sample < SAMPLES; sample++) {
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_EVERY_MS));
    least = Math.min(least, proportionalBytes(processes));
  }
  return least;
}

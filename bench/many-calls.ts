/**
 * `npm run bench:calls`: 200 inbound phone calls at 20 a second, half a minute each, through one worker with
 * default settings; none may be refused or dropped. A load of 100 calls, for which the pacing budget holds,
 * runs first. `npm run bench:calls -- 20 50` makes 20 and then 50 calls instead.
 */
import { startProduct } from '#test/journeys/product.ts';
import { callFigures } from './call-figures.ts';
import {
  beforeCallsMs,
  CALLS_PER_SECOND,
  createMeasuredAgent,
  type LoadResult,
  printTroubles,
  runCallLoad,
} from './call-load.ts';
import { PROFILED, profileCalls, profileText } from './cpu-profile.ts';
import { type Figure, judge, toText } from './figures.ts';
import { threadsText } from './load-cpu.ts';
import { startStandIns } from './stand-ins.ts';

const NUMBER = '+15550100043';
const DEFAULT_LOADS = [100, 200];
/** Four questions and two interruptions take half a minute. */
const TURNS = 4;

async function run(loads: readonly number[], isProfiled: boolean): Promise<void> {
  if (!loads.every((calls) => Number.isInteger(calls) && calls >= 1 && calls <= 300))
    throw new Error('name how many calls at once, 1 to 300');
  const standIns = await startStandIns();
  const figures: Figure[] = [];
  try {
    const product = await startProduct({
      environment: {
        ...standIns.environment,
        STARTING_CREDIT: '1000000.00',
        LOG_LEVEL: 'warn',
        ...(isProfiled && PROFILED),
      },
    });
    try {
      const takers = product.parts('worker').length;
      if (takers > 1)
        console.log(`${takers} workers share the calls: for one, run on two cores (taskset -c 0,1)`);
      await createMeasuredAgent(product, NUMBER);
      // The first call of a process compiles code and opens connections, so it is not measured.
      await runCallLoad(product, { calls: 1, turns: 1, number: NUMBER });
      for (const calls of loads) {
        console.log(`${calls} calls, ${CALLS_PER_SECOND} a second …`);
        const logged = product.log.length;
        const [result, profile] = await Promise.all([
          runCallLoad(product, { calls, turns: TURNS, number: NUMBER }),
          isProfiled
            ? profileCalls(product, beforeCallsMs(calls) + (1_000 * calls) / CALLS_PER_SECOND)
            : null,
        ]);
        printTroubles(result);
        printLogged(product.log.slice(logged));
        console.log(`  cores taken: ${coresOf(result)}`);
        console.log(`  of the product’s, by thread (in the kernel):\n${threadsText(result.threads)}`);
        if (profile) console.log(profileText(profile, calls));
        const ofLoad = [lostFigure(result), ...callFigures(result)];
        console.log(`\n${toText(ofLoad)}\n`);
        figures.push(...ofLoad);
      }
    } finally {
      await product.close();
    }
  } finally {
    await standIns.close();
  }
  process.exitCode = figures.every(({ verdict }) => verdict.startsWith('met')) ? 0 : 1;
}

function lostFigure({ calls, troubles }: LoadResult): Figure {
  return judge(
    { what: 'calls refused or dropped', load: `${calls} calls`, unit: 'calls', samples: calls, digits: 0 },
    [{ name: '', value: troubles.length, limit: 0 }],
  );
}

/** Prints the product's warnings: one line per kind, with its count and the full text of the last one. */
function printLogged(log: string): void {
  const lines = log.split('\n').filter((line) => line.startsWith('{'));
  const kinds = Map.groupBy(lines, (line) => /"msg":"[^"]*"/.exec(line)?.[0]);
  for (const ofKind of kinds.values()) console.log(`  ${ofKind.length} × ${ofKind.at(-1)}`);
}

function coresOf({ cores }: LoadResult): string {
  return Object.entries(cores)
    .map(([party, taken]) => `${party} ${taken.toFixed(2)}`)
    .join(', ');
}

const isProfiled = process.argv.includes('--profile');
const named = process.argv
  .slice(2)
  .filter((argument) => argument !== '--profile')
  .map(Number);
run(named.length > 0 ? named : DEFAULT_LOADS, isProfiled).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

/**
 * `npm run scenes`: plays the scenes of `catalogue.ts` to the product as callers do, by telephone and in the browser, and reports how it took its turns:
 * tables and plots into docs/turn-taking.md, the figures into bench/scenes/results.json.
 * `-- --only <part of a name>` plays some and writes nothing; `--repeat <times>`, `--lanes <calls at a time>`, `--verbose`.
 */
import { parseArgs } from 'node:util';
import { startProduct } from '#test/journeys/product.ts';
import { SCENES, type SceneCase } from './catalogue.ts';
import { type Played, playCase, type Stage } from './play.ts';
import { type SceneResult, summaryText, writeReport } from './report.ts';
import { startSceneStandIns } from './stand-ins.ts';

/** Scenes played beside each other. */
const LANES = 4;
const PORTS_PER_LANE = 4;
const FIRST_PORT = 28_000;

const { values } = parseArgs({
  options: {
    verbose: { type: 'boolean', default: false },
    only: { type: 'string' },
    repeat: { type: 'string', default: '2' },
    lanes: { type: 'string', default: String(LANES) },
  },
});
const scenes = SCENES.filter(({ name, over }) => values.only === undefined || `${name}, ${over}`.includes(values.only));
const runs = Array.from({ length: Number(values.repeat) }, (_, run) => scenes.map((item, index) => ({ item, index, run }))).flat();

async function main(): Promise<void> {
  const standIns = await startSceneStandIns();
  const environment = { ...standIns.environment, STARTING_CREDIT: '1000000.00', LOG_LEVEL: 'warn', PUBLIC_RATE_PER_IP: '100000' };
  const product = await startProduct({ environment });
  const played = new Map<SceneCase, Played[]>();
  const failures: string[] = [];
  const waiting = [...runs];
  let done = 0;
  const lane = async (stage: Stage) => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { item, index, run } = next;
      const call = { name: `scene${index}x${run}`, number: `+155501${String(20_000 + 100 * run + index)}`, seed: 1 + 100 * run + index };
      try {
        const result = await playCase(stage, item, call);
        if (values.verbose) console.log(JSON.stringify(result, null, 1));
        played.set(item, [...(played.get(item) ?? []), result]);
      } catch (error) {
        failures.push(`${item.name}: ${error instanceof Error ? error.message : String(error)}`);
      }
      console.log(`${String(++done).padStart(3)} of ${runs.length}  ${item.name} (${item.over})`);
    }
  };
  try {
    const lanes = Array.from({ length: Number(values.lanes) }, (_, index) =>
      lane({ product, standIns, firstPort: FIRST_PORT + PORTS_PER_LANE * index }),
    );
    await Promise.all(lanes);
  } finally {
    await product.close();
    await standIns.close();
  }
  const results: SceneResult[] = scenes.map((item) => ({ item, played: played.get(item) ?? [] }));
  console.log(`\n${summaryText(results)}`);
  for (const failure of failures) console.log(`not played: ${failure}`);
  if (values.only === undefined) writeReport(results);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

/**
 * `npm run scenes`: plays the scenes of `catalogue.ts` to the product, over SIP and over WebRTC, and reports
 * its turn-taking: tables and plots go into docs/measuring.md, figures into bench/scenes/results.json. If
 * this process ran late during a call, the call is played again; if every attempt is late, it is excluded.
 * The report is written only if every scene was played at least once. Options, after `--`:
 * `--only <part of a name>` plays only matching scenes and writes nothing; `--repeat <times>` sets calls per
 * scene; `--lanes <n>` sets calls at a time; `--verbose` prints each result.
 */
import { parseArgs } from 'node:util';
import { prepareScene } from '#caller/scene.ts';
import { startProduct } from '#test/journeys/product.ts';
import { SCENES, type SceneCase } from './catalogue.ts';
import { judgeCase, type Observation, playCase, type Stage } from './play.ts';
import { type SceneResult, summaryText, writeReport } from './report.ts';
import { startSceneStandIns } from './stand-ins.ts';

/** Scenes played in parallel. */
const LANES = 4;
const PORTS_PER_LANE = 4;
const FIRST_PORT = 28_000;
/** A caller delayed by more than this did not play the scene as written, so the call is repeated. */
const LATEST_MS = 60;
/** Attempts per call, including the first. */
const ATTEMPTS = 3;

const { values } = parseArgs({
  options: {
    verbose: { type: 'boolean', default: false },
    only: { type: 'string' },
    repeat: { type: 'string', default: '2' },
    lanes: { type: 'string', default: String(LANES) },
  },
});
const scenes = SCENES.filter(
  ({ name, over }) => values.only === undefined || `${name}, ${over}`.includes(values.only),
);
/** Synthesises the audio of every call in advance, because synthesis would take CPU from running calls. */
const prepared = Array.from({ length: Number(values.repeat) }, (_, run) =>
  scenes.map((item, index) => {
    const number = 100 * run + index;
    return {
      item,
      number,
      attempts: 0,
      scene: prepareScene({ ...item.scene, name: `scene${number}`, seed: 1 + number }),
    };
  }),
).flat();

async function main(): Promise<void> {
  const standIns = await startSceneStandIns();
  const environment = {
    ...standIns.environment,
    STARTING_CREDIT: '1000000.00',
    LOG_LEVEL: 'warn',
    PUBLIC_RATE_PER_IP: '100000',
  };
  const product = await startProduct({ environment });
  const observed = new Map<SceneCase, Observation[]>();
  const failures: string[] = [];
  const waiting = [...prepared];
  let done = 0;
  const play = async (stage: Stage, call: (typeof prepared)[number]) => {
    const { item, scene, number, attempts } = call;
    const result = await playCase(stage, item, {
      scene,
      number: `+155501${String(20_000 + number + 1_000 * attempts)}`,
    });
    if (values.verbose) console.log(JSON.stringify(result, null, 1));
    if (result.latenessMs <= LATEST_MS) observed.set(item, [...(observed.get(item) ?? []), result]);
    else if (attempts + 1 >= ATTEMPTS)
      throw new Error(
        `this machine was too busy, the caller itself was ${result.latenessMs.toFixed(0)} ms late`,
      );
    else {
      waiting.push({ ...call, scene: { ...scene, name: `${scene.name}again` }, attempts: attempts + 1 });
      return 'again';
    }
    return 'done';
  };
  const lane = async (stage: Stage) => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const name = `${next.item.name} (${next.item.over})`;
      const outcome = await play(stage, next).catch((error: unknown) => {
        failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
        return 'failed';
      });
      // A repeated call counts once.
      if (outcome !== 'again') done++;
      console.log(
        `${String(done).padStart(3)} of ${prepared.length}  ` +
          `${name}${outcome === 'done' ? '' : `: ${outcome}`}`,
      );
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
  const results: SceneResult[] = scenes.map((item) => ({
    item,
    played: (observed.get(item) ?? []).map((call) => judgeCase(item, call, standIns.spoken)),
  }));
  console.log(`\n${summaryText(results)}`);
  for (const failure of failures) console.log(`not counted: ${failure}`);
  const isComplete = results.every(({ played }) => played.length > 0);
  if (values.only === undefined && isComplete) writeReport(results);
  process.exitCode = isComplete ? 0 : 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

/**
 * `npm run simulate -- --calls 10000 [--from 1]` runs simulated calls on every processor and prints those
 * that violate an invariant. `npm run simulate -- --seed 17` shows one call as a timeline: each input of the
 * turn machine and its effects. With `--dies-after 40` its worker dies after that many steps, and the
 * continuation on the next worker is shown; with `--tool-server dead` its agent has a tool server, which does
 * that to the call; with `--presses-keys` it presses keys of the phone.
 */
import { parseArgs } from 'node:util';
import { isMainThread } from 'node:worker_threads';
import { CURRENT_MACHINE } from '#runtime/replay/machines/turn-machine.ts';
import { replay } from '#runtime/replay/replay.ts';
import { readFlightLog } from '#runtime/turn/loop/flight-log.ts';
import { gapsOf } from './gaps.ts';
import { violations } from './invariants.ts';
import { type Batch, runBatches, serveBatches } from './run-batches.ts';
import { type Given, type SimulatedCall, simulateCall } from './simulate-call.ts';
import { TOOL_SERVER_SCENES, type ToolServerScene } from './simulated-tool-server.ts';
import { type AnsweredTwice, answeredTwice, FIRST_TOKEN_MS, medianSaving } from './speculation.ts';
import { sceneOf, simulateScene } from './tool-server-scenes.ts';

/** Calls a thread gets at a time. */
const BATCH = 100;
/** Calls between progress messages. */
const PROGRESS = 1_000;
/**
 * Number of calls per batch that are repeated with and without speculation: ten thousand calls give several
 * hundred turns to compare.
 */
const TWICE = 5;
/** Number of calls per batch that are repeated with a tool server: every scene once. */
const WITH_SERVER = TOOL_SERVER_SCENES.length;

/** The result of a batch. */
interface Found {
  readonly failures: string[];
  /** Time callers waited for the agent, ms, for each gap over 700 ms. */
  readonly awaitedMs: number[];
  readonly answered: AnsweredTwice[];
}

if (isMainThread) await main();
else serveBatches(runBatch);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      calls: { type: 'string', default: '10000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      'dies-after': { type: 'string' },
      'tool-server': { type: 'string' },
      'presses-keys': { type: 'boolean', default: false },
    },
  });
  const { 'dies-after': diesAfterSteps, 'tool-server': scene } = values;
  const toolServer = TOOL_SERVER_SCENES.find((each) => each === scene);
  if (scene !== undefined && !toolServer)
    throw new Error(`there is no scene ${scene}; there are: ${TOOL_SERVER_SCENES.join(', ')}`);
  const given: Given = {
    ...(diesAfterSteps === undefined ? {} : { diesAfterSteps: Number(diesAfterSteps) }),
    ...(toolServer ? { toolServer } : {}),
    pressesKeys: values['presses-keys'],
  };
  if (values.seed === undefined) await runAll(Number(values.from), Number(values.calls));
  else await show(Number(values.seed), given);
}

/** Runs the calls with these seeds. */
async function runBatch({ from, runs }: Batch): Promise<Found> {
  const found: Found = { failures: [], awaitedMs: [], answered: [] };
  for (let seed = from; seed < from + runs; seed++) {
    const call = await simulateCall(seed);
    for (const violation of violations(call))
      found.failures.push(`${violation}\n    npm run simulate -- --seed ${seed}`);
    found.awaitedMs.push(
      ...gapsOf(call).flatMap(({ awaitedMs, isExcused }) => (isExcused ? [] : [awaitedMs])),
    );
  }
  for (let seed = from; seed < from + Math.min(WITH_SERVER, runs); seed++)
    for (const violation of (await simulateScene(seed)).violations)
      found.failures.push(
        `${violation}\n    npm run simulate -- --seed ${seed} --tool-server ${sceneOf(seed)}`,
      );
  for (let seed = from; seed < from + Math.min(TWICE, runs); seed++)
    found.answered.push(...(await answeredTwice(seed)));
  return found;
}

async function runAll(from: number, runs: number): Promise<void> {
  const awaitedMs: number[] = [];
  const answered: AnsweredTwice[] = [];
  const { done, seconds, failures } = await runBatches<Found>(
    { from, runs },
    {
      file: import.meta.url,
      batch: BATCH,
      progress: PROGRESS,
      noun: 'calls',
      onFound: (found) => {
        awaitedMs.push(...found.awaitedMs);
        answered.push(...found.answered);
      },
    },
  );
  for (const failure of failures) console.log(failure);
  const longestMs = awaitedMs.reduce((longest, ms) => Math.max(longest, ms), 0);
  console.log(
    `${awaitedMs.length} gaps over 700 ms, the longest wait for the agent ${longestMs.toFixed(0)} ms`,
  );
  console.log(
    `speculation: in ${answered.length} turns the median answer came ${medianSaving(answered).toFixed(0)} ` +
      `ms sooner (the model's first token: ${FIRST_TOKEN_MS} ms)`,
  );
  console.log(
    `${done} calls in ${seconds} s, ` +
      `${failures.length === 0 ? 'every invariant held' : `${failures.length} broken invariants`}`,
  );
}

async function show(seed: number, given: Given): Promise<void> {
  const call = await simulateCall(seed, given);
  for (const { input, effects } of replay(readFlightLog(call.flightLog)[0], CURRENT_MACHINE)) {
    const { atMs, type, ...facts } = input;
    console.log(`${atMs.toFixed(0).padStart(7)} ${type} ${JSON.stringify(facts)}`);
    for (const { do: what, ...effect } of effects)
      if (what !== 'startTimer' && what !== 'stopTimer')
        console.log(`${' '.repeat(10)}→ ${what} ${JSON.stringify(effect).slice(0, 220)}`);
  }
  for (const { replyId, startedMs, words } of call.played)
    console.log(`played ${replyId} from ${startedMs}: ${words.join(' ')}`);
  const broken = await brokenBy(call, given.toolServer);
  console.log(broken.length === 0 ? 'every invariant held' : broken.join('\n'));
  process.exitCode = broken.length === 0 ? 0 : 1;
}

async function brokenBy(call: SimulatedCall, scene: ToolServerScene | undefined): Promise<readonly string[]> {
  return scene === undefined ? violations(call) : (await simulateScene(call.seed, scene)).violations;
}

/**
 * `npm run compare [-- --rounds <n>]`: a neutral caller plays the same scenes to Parley and to an agent built
 * with LiveKit's framework, in rooms of one LiveKit server, with identical stand-in engines. Writes
 * docs/comparison.md, its plots and bench/comparison/results.json. Needs livekit-server in the PATH.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import type { SceneFile } from '#caller/scene.ts';
import { quantile } from '#caller/statistics.ts';
import { startLivekitServer } from '#test/fakes/livekit-server.ts';
import { measureBusyShare, startCostMeter } from './cost.ts';
import { type EngineFault, FAULTS } from './engines.ts';
import { type CallResult, judgeCall, ownWords, replyAfter } from './judge.ts';
import { installLivekitAgents, startLivekitAgents } from './livekit-agents-side.ts';
import { startParley } from './parley-side.ts';
import { placeCall } from './place-call.ts';
import { plot } from './plot.ts';
import { type ComparisonResults, type FaultOutcome, type SideResults, toMarkdown } from './report.ts';
import { FAULT_LINES, FAULT_SCENE, LOAD_SCENE, LOAD_WORDS, SCENES } from './script.ts';
import { SETTINGS, type Side } from './side.ts';

/** Warm-up attempts; the first ones may fail on a busy machine. */
const WARM_UPS = 3;
const IDLE_MS = 8_000;
/** Time in which the load from other programs is measured, before the run starts anything. */
const QUIET_MS = 5_000;
const LOAD_CALLS = 4;
const DOCS = new URL('../../docs/', import.meta.url);
const startedMs = performance.now();

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, 'fault-rounds': { type: 'string', default: '2' } },
});
installLivekitAgents();
if (spawnSync('livekit-server', ['--version']).error)
  throw new Error('livekit-server is not in the PATH (github.com/livekit/livekit)');
const othersShare = await measureBusyShare(QUIET_MS);
const open: (() => Promise<void>)[] = [];
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void closeAll().then(() => process.exit(1)));
const server = await startLivekitServer();
open.push(() => server.close());
try {
  await compare();
} finally {
  await closeAll();
}
process.exit(0);

async function closeAll(): Promise<void> {
  for (const close of open.splice(0).reverse()) await close();
}

async function compare(): Promise<void> {
  progress('starting both sides');
  const sides: Side[] = [];
  for (const start of [startParley, startLivekitAgents]) {
    const side = await start(server.environment);
    sides.push(side);
    open.push(() => side.close());
  }
  const results = new Map(sides.map((side) => [side, blank(side)]));
  const resultsOf = (side: Side) => results.get(side) as Writable;
  // An aborted run keeps its results so far.
  const keep = () => write([...results.values()]);
  for (const side of sides) await warmUp(side);
  for (const side of sides) resultsOf(side).idle = await whileIdle(side);
  await playRounds(sides, resultsOf, keep);
  for (const side of sides) resultsOf(side).load = await underLoad(side);
  keep();
  await breakEngines(sides, resultsOf);
  keep();
  progress('docs/comparison.md is written');
}

type Writable = { -readonly [Key in keyof SideResults]: SideResults[Key] } & {
  calls: { scene: string; heard: CallResult }[];
  faults: FaultOutcome[];
  latenessMs: number[];
};

function blank({ name, version }: Side): Writable {
  return {
    name,
    version,
    calls: [],
    faults: [],
    latenessMs: [],
    failed: 0,
    idle: { cpuShare: 0, bytes: 0 },
    load: null,
  };
}

/**
 * The first call of a process compiles code, so it is not counted. Throws if the agent is never heard,
 * because its figures would mean nothing.
 */
async function warmUp(side: Side): Promise<void> {
  for (let attempt = 1; attempt <= WARM_UPS; attempt++) {
    progress(`${side.name}: a first call, not counted`);
    const call = await playScene(side, SCENES[0] as SceneFile).catch((error: unknown) => {
      progress(`${side.name}: ${error}`);
      return null;
    });
    if (call !== null && call.heard.greetingMs !== null && call.heard.unanswered === 0) return;
  }
  throw new Error(
    `${side.name} was not heard in ${WARM_UPS} calls: nothing is compared (COMPARISON_LOG=1 shows what ` +
      "LiveKit's framework prints)",
  );
}

async function whileIdle(side: Side) {
  const meter = startCostMeter(() => side.processes());
  await new Promise((done) => setTimeout(done, IDLE_MS));
  const { cpuSeconds, peakBytes, seconds } = meter.stop();
  return { cpuShare: cpuSeconds / seconds, bytes: peakBytes };
}

/** Plays each scene on both sides; the side that goes first alternates with every round. */
async function playRounds(
  sides: readonly Side[],
  resultsOf: (side: Side) => Writable,
  keep: () => void,
): Promise<void> {
  const rounds = Number(values.rounds);
  for (let round = 0; round < rounds; round++) {
    for (const scene of SCENES) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        progress(`round ${round + 1} of ${rounds}: ${scene.name}, ${side.name}`);
        try {
          const { heard, latenessMs } = await playScene(side, { ...scene, seed: round + 1 });
          resultsOf(side).calls.push({ scene: scene.name, heard });
          resultsOf(side).latenessMs.push(quantile(latenessMs, 0.99));
        } catch (error) {
          resultsOf(side).failed++;
          progress(`${side.name}: no call: ${error}`);
        }
      }
      keep();
    }
  }
}

async function playScene(side: Side, scene: SceneFile) {
  const { grant, said } = await side.prepare();
  const call = await placeCall({ grant, scene }, (words) =>
    side.engines.order({ cue: { words, isStanding: false } }),
  );
  return { heard: judgeCall(call, await said()), latenessMs: call.latenessMs };
}

/** Runs concurrent calls to measure the cost of each. */
async function underLoad(side: Side): Promise<SideResults['load']> {
  progress(`${LOAD_CALLS} calls at once: ${side.name}`);
  side.engines.order({ cue: { words: LOAD_WORDS, isStanding: true } });
  const meter = startCostMeter(() => side.processes());
  const calls = await Promise.allSettled(
    Array.from({ length: LOAD_CALLS }, async (_, index) => {
      const { grant } = await side.prepare();
      const begunMs = performance.now();
      const call = await placeCall({ grant, scene: { ...LOAD_SCENE, seed: 100 + index } }, () => undefined);
      return { replyMs: judgeCall(call, null).replyMs, minutes: (performance.now() - begunMs) / 60_000 };
    }),
  );
  const cost = meter.stop();
  const done = calls.flatMap((call) => (call.status === 'fulfilled' ? [call.value] : []));
  if (done.length === 0) return null;
  const minutes = done.reduce((sum, call) => sum + call.minutes, 0);
  return {
    calls: done.length,
    minutes,
    cpuSeconds: cost.cpuSeconds,
    seconds: cost.seconds,
    peakBytes: cost.peakBytes,
    replyMs: done.flatMap(({ replyMs }) => replyMs),
  };
}

/**
 * Runs both sides at the same time: the result is measured in seconds, so interference of milliseconds does
 * not matter.
 */
async function breakEngines(sides: readonly Side[], resultsOf: (side: Side) => Writable): Promise<void> {
  for (const fault of FAULTS) {
    for (let round = 0; round < Number(values['fault-rounds']); round++) {
      progress(`${fault.name} (${round + 1})`);
      await Promise.all(
        sides.map(async (side) => {
          try {
            resultsOf(side).faults.push(await withFault(side, fault));
          } catch (error) {
            progress(`${side.name}: no call: ${error}`);
            resultsOf(side).failed++;
          }
        }),
      );
    }
  }
}

async function withFault(side: Side, fault: EngineFault): Promise<FaultOutcome> {
  const { grant, said } = await side.prepare();
  try {
    const call = await placeCall({ grant, scene: FAULT_SCENE }, (words, index) => {
      side.engines.order({ cue: { words, isStanding: false } });
      if (index === FAULT_LINES.breaks) side.engines.order({ fault });
      if (index === FAULT_LINES.mends) side.engines.order({ fault: null });
    });
    const [, broken, mended] = call.lines;
    return {
      fault: fault.name,
      heardAfterMs: broken ? replyAfter(call.agent, broken, mended) : null,
      nextAnsweredAfterMs: mended ? replyAfter(call.agent, mended, undefined) : null,
      wasSentAway: !call.endedByCaller,
      ownWords: ownWords((await said()) ?? []),
    };
  } finally {
    side.engines.order({ fault: null });
  }
}

function write(sides: readonly Writable[]): void {
  const options = process.argv.slice(2);
  const results: ComparisonResults = {
    at: new Date().toISOString(),
    command: ['npm run compare', ...(options.length > 0 ? ['--', ...options] : [])].join(' '),
    machine: { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version, othersShare },
    settings: SETTINGS,
    sides,
  };
  mkdirSync(new URL('images/comparison/', DOCS), { recursive: true });
  const rows = (list: 'replyMs' | 'stopMs' | 'heldMs') =>
    sides.map(({ name, calls }) => ({ name, values: calls.flatMap(({ heard }) => heard[list]) }));
  writeFileSync(
    new URL('images/comparison/replies.svg', DOCS),
    plot('From the end of the caller’s speech to the agent’s first sound, ms', rows('replyMs')),
  );
  writeFileSync(
    new URL('images/comparison/stops.svg', DOCS),
    plot('From the beginning of an interruption to the agent’s last sound, ms', rows('stopMs')),
  );
  writeFileSync(
    new URL('images/comparison/held.svg', DOCS),
    plot('Silence of the agent at a sound that wanted nothing, ms', rows('heldMs')),
  );
  writeFileSync(new URL('results.json', import.meta.url), `${JSON.stringify(results, null, 1)}\n`);
  writeFileSync(new URL('comparison.md', DOCS), toMarkdown(results));
}

function progress(text: string): void {
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  console.log(
    `${String(Math.floor(seconds / 60)).padStart(2)}:${String(seconds % 60).padStart(2, '0')} ${text}`,
  );
}

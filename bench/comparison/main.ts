/**
 * `npm run compare [-- --rounds <n>]`: a neutral caller plays the same scenes to Parley and to agents built
 * with other frameworks, in rooms of one LiveKit server, with identical stand-in engines. Writes
 * docs/comparison.md, its plots and bench/comparison/results.json after every step. Needs livekit-server in
 * the PATH, and for the agents in Python what `.ci/comparison-python` installs.
 */
import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { programVersion } from '#base/program-version.ts';
import { startLivekitServer } from '#test/fakes/livekit-server.ts';
import { processTree, signalProcess } from '#test/journeys/process-tree.ts';
import { Comparison } from './comparison.ts';
import { startBusyMeter } from './cost.ts';
import { losePacketsNoMore } from './packet-loss.ts';
import { blankSide, type ComparisonResults, refusalOf } from './results.ts';
import type { SideKind } from './side.ts';
import { sideKinds } from './sides.ts';
import { callerVoices } from './voices.ts';
import { readResults, resultFiles, writeResults } from './write-results.ts';

const USAGE = `usage: npm run compare -- [options]
  --rounds <n>         how often every scene is played to every side (3)
  --fault-rounds <n>   how often every fault is tried (1)
  --at-once <n>        scenes played at once (3)
  --sides <ids>        only these sides, separated by commas
  --scenes <names>     only these scenes, separated by commas
  --no-load            without the cost and delay of many calls
  --continue           goes on with the run that was stopped
  --out <folder>       writes there instead of into the repository`;

/** Time in which the load from other programs is measured, before the run starts anything. */
const QUIET_MS = 5_000;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    'fault-rounds': { type: 'string', default: '1' },
    'at-once': { type: 'string', default: '3' },
    sides: { type: 'string' },
    scenes: { type: 'string' },
    'no-load': { type: 'boolean', default: false },
    continue: { type: 'boolean', default: false },
    out: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
if (spawnSync('livekit-server', ['--version']).error)
  throw new Error('livekit-server is not in the PATH (.ci/livekit-server builds it)');
const kinds = sideKinds(values.sides);
const files = resultFiles(values.out);
const run = {
  command: commandOf(process.argv.slice(2)),
  revision: revision(),
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  node: process.version,
};
// A run that was killed cannot end its loss of packets itself.
losePacketsNoMore();
process.once('exit', losePacketsNoMore);
const results = (values.continue ? stoppedResults() : null) ?? (await blankResults(kinds));
const server = await startLivekitServer();
const comparison = new Comparison({
  results,
  kinds,
  livekit: server.environment,
  mediaPort: server.mediaPort,
  scenes: values.scenes?.split(',') ?? null,
  faultRounds: Number(values['fault-rounds']),
  hasLoad: !values['no-load'],
  save: () => writeResults(results, files),
});
const closeAll = async () => {
  await comparison.close();
  await server.close();
};
const stop = () => {
  // A side that is being started is not among those that can be closed.
  for (const { pid } of processTree(process.pid)) if (pid !== process.pid) signalProcess(pid, 'SIGKILL');
  process.exit(1);
};
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void closeAll().finally(stop));
try {
  await comparison.run();
} finally {
  await closeAll();
}
process.exit(0);

async function blankResults(chosen: readonly SideKind[]): Promise<ComparisonResults> {
  const sides = chosen.map((kind) => {
    const missing = kind.missing();
    if (missing !== null) console.log(`${kind.name} is left out: ${missing}`);
    return blankSide({ id: kind.id, name: kind.name, setUp: kind.setUp, missing });
  });
  const busy = startBusyMeter();
  await new Promise((done) => setTimeout(done, QUIET_MS));
  const { command, revision: made, ...machine } = run;
  return {
    at: new Date().toISOString(),
    command,
    revision: made,
    machine: { ...machine, othersShare: busy() },
    rounds: Number(values.rounds),
    callsAtOnce: Number(values['at-once']),
    voices: callerVoices().slice(0, Number(values.rounds)),
    lossMissing: null,
    isComplete: false,
    sides,
  };
}

/** The results to continue from; null if no run was stopped. Throws if this would mix two kinds of runs. */
function stoppedResults(): ComparisonResults | null {
  const stopped = readResults(files);
  if (!stopped) {
    console.log('no run was stopped: this one begins anew');
    return null;
  }
  const refusal = refusalOf(stopped, run);
  if (refusal !== null) throw new Error(`${refusal}; without --continue a new run begins`);
  return stopped;
}

/** The command without what may differ when a run is continued. */
function commandOf(given: readonly string[]): string {
  const options = given.filter((option) => option !== '--continue');
  return ['npm run compare', ...(options.length > 0 ? ['--', ...options] : [])].join(' ');
}

/** The commit of this repository; the version of the program where Git is not at hand. */
function revision(): string {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : programVersion();
}

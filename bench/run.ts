/**
 * `npm run bench`: measures the budgets for calls, the API and start-up on this machine, with stand-in
 * engines that answer at once. Prints each figure with its verdict and writes `bench/results.json`. `--quick`
 * skips the largest load, and the output says so.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { quantile } from '#caller/statistics.ts';
import { startLivekitServer } from '#test/fakes/livekit-server.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { AMPLE, ANALYTICS_PATH, type ApiLoadResult, askRepeatedly, runApiLoad } from './api-load.ts';
import { callFigures } from './call-figures.ts';
import { createMeasuredAgent, type LoadResult, printTroubles, runCallLoad } from './call-load.ts';
import { fdatasyncP50Ms } from './disk.ts';
import { type Figure, judge, judgeSamples, type Results, toText } from './figures.ts';
import { IDLE_TIMES, idleFigures, measureIdle } from './idle.ts';
import { Part } from './part.ts';
import { measureRecordings } from './recording-alignment.ts';
import type { SimulationCost } from './simulation-cost.ts';
import type { SimulationOrder } from './simulation-cost-process.ts';
import { type StandIns, startStandIns } from './stand-ins.ts';
import { runWebLoad, type WebWay, webFigure } from './web-load.ts';
import { measureWorkerDeath, type WorkerDeath } from './worker-death.ts';

const MIB = 1_048_576;
const isQuick = process.argv.includes('--quick');
const LOADS = isQuick ? [1, 10] : [1, 10, 50, 100];
/** Beside the largest load, as a host or other programs would: its budgets are for a machine like that. */
const TAKEN = { fromCalls: 100, share: 0.1 };
/** Not measured: the first calls of a process compile its code and open its connections. */
const FIRST_CALLS = { calls: 4, turns: 2 };
const TURNS = isQuick ? 2 : 4;
/** A single call yields few samples, so it has many turns. */
const LONE_CALL_TURNS = isQuick ? 4 : 12;
const STARTS = isQuick ? 1 : 3;
/** How exactly a start is timed. */
const START_EVERY_MS = 20;
const API_LOAD = { perSecond: 200, seconds: isQuick ? 2 : 5 };
/** Machine stall, within a sample's limit, that the sample tolerates. */
const TOLERATED_STALL_MS = 5;
const IDLE = isQuick ? { restMs: 15_000, windowMs: 20_000 } : IDLE_TIMES;
const SIMULATED_CALLS = 300;
const WORKER_DEATHS = { kills: isQuick ? 2 : 12, calls: 5 };
const WEB_CALLS = isQuick ? 1 : 5;
const RECORDED_CALLS = 20;
const NUMBER = '+15550100042';

async function run(): Promise<void> {
  const standIns = await startStandIns();
  const figures: Figure[] = [];
  try {
    const { loads, web, offsetsMs, death } = await measureCalls(standIns);
    figures.push(
      ...loads.flatMap(callFigures),
      ...memoryFigure(loads),
      web,
      await measureRooms(standIns),
      recordingFigure(`${RECORDED_CALLS} calls`, offsetsMs),
      ...deathFigures(death),
    );
    figures.push(
      ...(await measureApi(standIns)),
      startFigure(await measureStarts()),
      ...(await measureRest()),
      ...(await simulationFigures()),
    );
  } finally {
    await standIns.close();
  }
  const measured: Results = {
    at: new Date().toISOString(),
    command: `npm run bench${isQuick ? ' -- --quick' : ''}`,
    machine: { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version },
    figures,
  };
  console.log(`\n${toText(figures)}`);
  if (!isQuick)
    writeFileSync(new URL('results.json', import.meta.url), `${JSON.stringify(measured, null, 2)}\n`);
}

interface MeasuredCalls {
  readonly loads: readonly LoadResult[];
  /** Of direct web calls. */
  readonly web: Figure;
  readonly offsetsMs: readonly number[];
  readonly death: WorkerDeath;
}

async function measureCalls(standIns: StandIns): Promise<MeasuredCalls> {
  const product = await startProduct({ environment: { ...standIns.environment, ...AMPLE } });
  try {
    const agentId = await createMeasuredAgent(product, NUMBER);
    await runCallLoad(product, { ...FIRST_CALLS, number: NUMBER });
    const loads: LoadResult[] = [];
    for (const calls of LOADS) {
      console.log(`${calls} simultaneous call${calls === 1 ? '' : 's'} …`);
      const result = await runCallLoad(product, {
        calls,
        turns: calls === 1 ? LONE_CALL_TURNS : TURNS,
        number: NUMBER,
        ...(calls >= TAKEN.fromCalls ? { takesShare: TAKEN.share } : {}),
      });
      printTroubles(result);
      loads.push(result);
    }
    console.log('recordings …');
    const offsetsMs = await measureRecordings(product, { calls: RECORDED_CALLS, number: NUMBER });
    const web = await measureWeb(product, 'direct', agentId);
    console.log('worker killed …');
    const death = await measureWorkerDeath(product, { ...WORKER_DEATHS, number: NUMBER });
    return { loads, web, offsetsMs, death };
  } finally {
    await product.close();
  }
}

async function measureWeb(product: Product, way: WebWay, agentId: string): Promise<Figure> {
  console.log(`web calls, ${way} …`);
  const options = { way, agentId, calls: WEB_CALLS, turns: TURNS };
  return webFigure(way, WEB_CALLS, await runWebLoad(product, options));
}

/** A product with a LiveKit server has all its web calls there. */
async function measureRooms(standIns: StandIns): Promise<Figure> {
  if (spawnSync('livekit-server', ['--version']).error)
    return webFigure('room', WEB_CALLS, 'no LiveKit server on this machine');
  const server = await startLivekitServer();
  try {
    const product = await startProduct({
      environment: { ...standIns.environment, ...AMPLE, ...server.environment },
    });
    try {
      return await measureWeb(product, 'room', await createMeasuredAgent(product, NUMBER));
    } finally {
      await product.close();
    }
  } finally {
    await server.close();
  }
}

/** Memory per call: the slope between the smallest load and the largest. */
function memoryFigure(loads: readonly LoadResult[]): Figure[] {
  const [from, to] = [loads[0], loads.at(-1)];
  if (!from || !to || from === to) return [];
  const perCall = (to.residentBytes - from.residentBytes) / (to.calls - from.calls) / MIB;
  const about = {
    what: 'memory per call, recording included',
    load: `${from.calls} → ${to.calls} calls`,
    unit: 'MiB',
    samples: to.calls,
    digits: 2,
  };
  return [judge(about, [{ name: '', value: perCall, limit: 2 }])];
}

/** Uses the worst offset: one misplaced sentence makes the track wrong. */
function recordingFigure(load: string, offsetsMs: readonly number[]): Figure {
  const value = Math.max(...offsetsMs.map(Math.abs));
  return judge(
    { what: 'recording off the call’s clock, worst', load, unit: 'ms', samples: offsetsMs.length },
    [{ name: '', value, limit: 20 }],
  );
}

function deathFigures({ silentMs, recordingOffsetsMs, settledMs }: WorkerDeath): Figure[] {
  const { kills, calls } = WORKER_DEATHS;
  const about = (what: string, samples: number) => ({
    what,
    load: `${kills} × ${calls} calls`,
    unit: 'ms',
    samples,
    digits: 0,
  });
  return [
    judge(about('worker killed until the agent is heard again', silentMs.length), [
      { name: 'p95', value: quantile(silentMs, 0.95), limit: 3_000 },
    ]),
    recordingFigure(`${kills} × ${calls} calls after failover`, recordingOffsetsMs),
    judge(
      { ...about('worker killed and no other there, to its sessions settled', 1), load: `${calls} calls` },
      [{ name: '', value: settledMs, limit: 2_000 }],
    ),
  ];
}

async function measureApi(standIns: StandIns): Promise<Figure[]> {
  console.log('API …');
  const product = await startProduct({ environment: { ...standIns.environment, ...AMPLE } });
  try {
    const agent = await product.ask('POST', '/v1/agent/agents', { name: 'Measured' });
    await product.ask('POST', `/v1/agent/agents/${agent.agent_id}/publish`, {});
    const create = () => runApiLoad(product, agent.agent_id, API_LOAD);
    const alone = createFigure('', fdatasyncP50Ms(), await create());
    const diskMs = fdatasyncP50Ms();
    const analytics = askRepeatedly(product, ANALYTICS_PATH);
    const beside = await create();
    const load = ` beside ${await analytics.stop()} analytics queries`;
    return [alone, createFigure(load, diskMs, beside)];
  } finally {
    await product.close();
  }
}

function createFigure(beside: string, diskMs: number, { latencies, failed, stalls }: ApiLoadResult): Figure {
  const refused = failed > 0 ? `, ${failed} refused` : '';
  const load = `${API_LOAD.perSecond} per s${beside}, fdatasync p50 ${diskMs.toFixed(2)} ms${refused}`;
  const limit = 10 + 5 * diskMs;
  return judgeSamples(
    { what: 'create session', load, unit: 'ms' },
    failed > 0 ? [] : latencies,
    { p99: limit },
    { stalls, windowMs: limit, toleranceMs: TOLERATED_STALL_MS },
  );
}

async function measureStarts(): Promise<number[]> {
  console.log('start …');
  const times: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    const dataDir = mkdtempSync(join(tmpdir(), 'bench-start-'));
    const product = await startProduct({ dataDir, askEveryMs: START_EVERY_MS });
    times.push(product.readyAfterMs);
    await product.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
  return times;
}

function startFigure(times: readonly number[]): Figure {
  return judge(
    { what: 'npm start to ready', load: 'fresh data directory', unit: 's', samples: times.length, digits: 2 },
    [{ name: 'p50', value: quantile(times, 0.5) / 1_000, limit: 2.5 }],
  );
}

async function measureRest(): Promise<Figure[]> {
  console.log('idle …');
  return idleFigures(await measureIdle(IDLE), IDLE);
}

async function simulationFigures(): Promise<Figure[]> {
  console.log('simulation …');
  const part = new Part(new URL('./simulation-cost-process.ts', import.meta.url));
  const order: SimulationOrder = { calls: SIMULATED_CALLS };
  const { loopMs, wholeMs } = await part.ask<SimulationCost>(order).finally(() => part.close());
  const figure = (load: string, value: number, limit: number) =>
    judge({ what: 'a simulated five-minute call', load, unit: 'ms', samples: SIMULATED_CALLS }, [
      { name: '', value, limit },
    ]);
  return [figure('CPU of the turn loop', loopMs, 5), figure('CPU of all that is simulated', wholeMs, 15)];
}

run().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

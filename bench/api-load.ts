/**
 * Sends `POST /v1/agent/sessions` at a steady rate. A late response delays no later request; each latency
 * counts from the time its request was due.
 */
import { Pool } from 'undici';
import type { Product } from '#test/journeys/product.ts';
import type { TimedSample } from './figures.ts';
import { type MachineStalls, watchStalls } from './machine-stalls.ts';

/** More connections than requests in flight at this rate. */
const CONNECTIONS = 100;
/**
 * Warm-up at the same rate before the measurement: opens connections and lets the JIT compile the hot path.
 */
const WARM_UP_SECONDS = 3;

/** Settings with which nothing is refused for lack of credit or slots: the benchmark measures speed. */
export const AMPLE = {
  STARTING_CREDIT: '1000000.00',
  WORKER_MAX_CALLS: '5000',
  LIMIT_UNJOINED_SESSIONS: 'none',
  LIMIT_SESSIONS_PER_MINUTE: 'none',
  LOG_LEVEL: 'warn',
};

/** The queries beside which sessions are created. */
export const ANALYTICS_PATH = '/v1/agent/analytics?interval=hour';

/** Result of one run. */
export interface ApiLoadResult {
  /** Latency of every request, from its due time to its response, ms. */
  readonly latencies: readonly TimedSample[];
  /** Requests of the warm-up. */
  readonly warmedUp: number;
  readonly failed: number;
  /** Of the machine meanwhile; null if they could not be watched. */
  readonly stalls: MachineStalls | null;
}

/** A rate of requests, and for how long. */
export interface ApiLoad {
  readonly perSecond: number;
  readonly seconds: number;
  /** Called once the warm-up is over. */
  onMeasured?(): void;
}

/** Creates `perSecond` sessions a second for `seconds`. */
export async function runApiLoad(product: Product, agentId: string, load: ApiLoad): Promise<ApiLoadResult> {
  // The caller shares the machine's cores with the product; a plain pool uses a fraction of the CPU of
  // `fetch`.
  const pool = new Pool(product.url, { connections: CONNECTIONS });
  const request = {
    method: 'POST',
    path: '/v1/agent/sessions',
    headers: { authorization: `Bearer ${product.rootKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ agent_id: agentId }),
  } as const;
  const create = async () => {
    const { statusCode, body } = await pool.request(request);
    await body.dump();
    return statusCode === 201;
  };
  try {
    const warmUp = await atRate({ ...load, seconds: WARM_UP_SECONDS }, create);
    const watch = await watchStalls();
    load.onMeasured?.();
    const measured = await atRate(load, create);
    return { ...measured, warmedUp: warmUp.latencies.length, stalls: await watch.stop() };
  } finally {
    await pool.destroy();
  }
}

/** Repeated requests beside something else. */
export interface RepeatedRequests {
  /** Sends no more. Returns how many were answered; throws if one failed. */
  stop(): Promise<number>;
}

/**
 * Requests a path again and again, each time once the last request is answered. The answers are not parsed:
 * that would take time of the thread that measures others.
 */
export function askRepeatedly(product: Product, path: string): RepeatedRequests {
  let isStopped = false;
  const pool = new Pool(product.url, { connections: 1 });
  const request = {
    method: 'GET',
    path,
    headers: { authorization: `Bearer ${product.rootKey}` },
  } as const;
  const ask = async () => {
    const { statusCode, body } = await pool.request(request);
    await body.arrayBuffer();
    if (statusCode !== 200) throw new Error(`${path} was answered ${statusCode}`);
  };
  const answered = (async () => {
    let count = 0;
    for (; !isStopped; count++) await ask();
    return count;
  })().finally(() => pool.destroy());
  answered.catch(() => undefined);
  return {
    stop() {
      isStopped = true;
      return answered;
    },
  };
}

async function atRate(
  load: Pick<ApiLoad, 'perSecond' | 'seconds'>,
  create: () => Promise<boolean>,
): Promise<Pick<ApiLoadResult, 'latencies' | 'failed'>> {
  const latencies: TimedSample[] = [];
  let failed = 0;
  const createWhenDue = async (dueMs: number) => {
    if (!(await create())) failed++;
    const value = performance.now() - dueMs;
    latencies.push({ atMs: performance.timeOrigin + dueMs, value });
  };
  const startMs = performance.now();
  const pending: Promise<void>[] = [];
  for (let index = 0; index < load.perSecond * load.seconds; index++) {
    const dueMs = startMs + (index * 1_000) / load.perSecond;
    for (let leftMs = dueMs - performance.now(); leftMs > 0; leftMs = dueMs - performance.now())
      await new Promise((resolve) => setTimeout(resolve, leftMs));
    pending.push(createWhenDue(dueMs));
  }
  await Promise.all(pending);
  return { latencies, failed };
}

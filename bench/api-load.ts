/**
 * Sends `POST /v1/agent/sessions` at a steady rate. A late response delays no later request; each latency
 * counts from the time its request was due.
 */
import { Pool } from 'undici';
import type { Product } from '#test/journeys/product.ts';

/** More connections than requests in flight at this rate. */
const CONNECTIONS = 100;
/**
 * Warm-up at the same rate before the measurement: opens connections and lets the JIT compile the hot path.
 */
const WARM_UP_SECONDS = 3;

/** Result of one run. */
export interface ApiLoadResult {
  /** Latency of every request, from its due time to its response. */
  readonly latenciesMs: readonly number[];
  readonly failed: number;
}

/** Creates `perSecond` sessions a second for `seconds`. */
export async function runApiLoad(
  product: Product,
  agentId: string,
  load: { readonly perSecond: number; readonly seconds: number },
): Promise<ApiLoadResult> {
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
    await atRate({ ...load, seconds: WARM_UP_SECONDS }, create);
    return await atRate(load, create);
  } finally {
    await pool.destroy();
  }
}

/** Repeated requests beside something else. */
export interface RepeatedRequests {
  /** Sends no more. Returns how many were answered; throws if one failed. */
  stop(): Promise<number>;
}

/** Requests a path again and again, each time once the last request is answered. */
export function askRepeatedly(product: Product, path: string): RepeatedRequests {
  let isStopped = false;
  const answered = (async () => {
    let count = 0;
    for (; !isStopped; count++) await product.ask('GET', path);
    return count;
  })();
  answered.catch(() => undefined);
  return {
    stop() {
      isStopped = true;
      return answered;
    },
  };
}

async function atRate(
  load: { readonly perSecond: number; readonly seconds: number },
  create: () => Promise<boolean>,
): Promise<ApiLoadResult> {
  const latenciesMs: number[] = [];
  let failed = 0;
  const createWhenDue = async (dueMs: number) => {
    if (!(await create())) failed++;
    latenciesMs.push(performance.now() - dueMs);
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
  return { latenciesMs, failed };
}

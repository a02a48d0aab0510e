/** `POST /v1/agent/sessions` at a steady rate, whatever the answers take: a late answer delays no request, and counts from when its request was due. */
import type { Product } from '#test/journeys/product.ts';

/** What the rate showed. */
export interface ApiLoadResult {
  /** Of every request, from when it was due to its answer. */
  readonly latenciesMs: readonly number[];
  readonly failed: number;
}

/** Creates `perSecond` sessions a second for `seconds`. */
export async function runApiLoad(
  product: Product,
  agentId: string,
  load: { readonly perSecond: number; readonly seconds: number },
): Promise<ApiLoadResult> {
  const latenciesMs: number[] = [];
  let failed = 0;
  const create = async (dueMs: number) => {
    const answer = await product.api('POST', '/v1/agent/sessions', { agent_id: agentId });
    latenciesMs.push(performance.now() - dueMs);
    if (answer.status !== 201) failed++;
  };
  // The first requests open connections and compile code; they are no part of it.
  await Promise.all(Array.from({ length: 20 }, () => create(performance.now())));
  latenciesMs.length = 0;
  const startMs = performance.now();
  const pending: Promise<void>[] = [];
  for (let index = 0; index < load.perSecond * load.seconds; index++) {
    const dueMs = startMs + (index * 1_000) / load.perSecond;
    for (let leftMs = dueMs - performance.now(); leftMs > 0; leftMs = dueMs - performance.now())
      await new Promise((resolve) => setTimeout(resolve, leftMs));
    pending.push(create(dueMs));
  }
  await Promise.all(pending);
  return { latenciesMs, failed };
}

/** Kills the workers in the middle of calls and waits until every session has its end. */
import type { Product } from '#test/journeys/product.ts';
import { PhoneCaller } from './caller/phone-caller.ts';
import { prepareScene } from './caller/scene.ts';

const PORTS = { first: 42_300, last: 42_399 };
const SETTLE_LIMIT_MS = 30_000;

/** Time from the kill until no session is live any more, ms. */
export async function measureWorkerDeath(product: Product, load: { readonly calls: number; readonly number: string }): Promise<number> {
  const caller = new PhoneCaller({ ports: PORTS });
  const stop = new AbortController();
  const calls = Array.from({ length: load.calls }, () =>
    caller.call({
      target: product.sipAddress(load.number),
      scene: prepareScene({ name: 'wait', steps: [{ do: 'await_hang_up', timeout_ms: SETTLE_LIMIT_MS }] }),
      signal: stop.signal,
    }),
  );
  await product.until('the calls are active', async () => (await live(product)) === load.calls);
  const killedMs = performance.now();
  product.kill('worker');
  await product.until('the sessions are settled', async () => (await live(product)) === 0, SETTLE_LIMIT_MS);
  const settledMs = performance.now();
  stop.abort();
  await Promise.all(calls);
  return settledMs - killedMs;
}

async function live(product: Product): Promise<number> {
  const list = await product.ask('GET', '/v1/agent/sessions?status=active,unknown&page_size=100');
  return list.sessions.length;
}

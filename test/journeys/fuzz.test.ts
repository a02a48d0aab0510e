import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MARK } from '#test/fuzz/arbitrary-of.ts';
import { fuzzApi } from '#test/fuzz/fuzz-api.ts';
import { type Product, startProduct } from './product.ts';

const FIXED_SEED = 20_261_121;
const RUNS = 8;
let product: Product;

beforeAll(async () => {
  product = await startProduct({ environment: { SESSION_JOIN_SECONDS: '2', LOG_LEVEL: 'error' } });
});
afterAll(() => product.close());

describe('every described route handles hostile requests', () => {
  it.each([
    ['a fixed seed', FIXED_SEED],
    ['a random seed', Math.floor(Math.random() * 2 ** 31)],
  ])('answers them all as described: %s', { timeout: 240_000 }, async (_name, seed) => {
    console.log(`fuzz seed ${seed}`);
    const { requests, findings, statuses } = await fuzzApi({
      url: product.url,
      rootKey: product.rootKey,
      seed,
      runs: RUNS,
    });
    expect(findings).toEqual([]);
    expect(requests).toBeGreaterThan(80 * RUNS);
    // Requests must also get past validation.
    for (const status of [200, 201, 404, 422]) expect([...statuses.keys()]).toContain(status);
    expect(await product.api('GET', '/healthz')).toMatchObject({ status: 200 });
    expect(product.log).not.toContain(MARK);
  });
});

/**
 * `npm run fuzz -- [--runs 500] [--seed n]`: runs the fuzzer for any length against its own product; CI runs
 * a short one.
 */
import { parseArgs } from 'node:util';
import { startProduct } from '#test/journeys/product.ts';
import { fuzzApi } from './fuzz-api.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '500' }, seed: { type: 'string' } },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
console.log(`seed ${seed}, ${values.runs} requests per route`);
const product = await startProduct({
  // At the limit of refusals, a run would take hours.
  environment: { SESSION_JOIN_SECONDS: '2', LOG_LEVEL: 'error', LIMIT_REFUSALS_PER_SECOND: 'none' },
});
let findings: readonly string[] = [];
try {
  const result = await fuzzApi({
    url: product.url,
    rootKey: product.rootKey,
    seed,
    runs: Number(values.runs),
  });
  findings = result.findings;
  const statuses = [...result.statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count}`);
  console.log(`${result.requests} requests; ${statuses.join(', ')}`);
  for (const finding of findings) console.log(finding);
} finally {
  await product.close();
}
console.log(`${findings.length} findings`);
process.exit(findings.length > 0 ? 1 : 0);

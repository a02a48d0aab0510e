/**
 * `npm run bench:wallet [seconds]`: five replicas post 400 entries a second to one wallet, in a database
 * whose majority acknowledges a write 12 ms after the primary. Budget: p99 at most 250 ms, and the ledger
 * adds up. The replicas share one process, and the delay is added in front of the embedded database: others
 * read an entry as soon as it is there, as from a primary.
 */

import { systemClock } from '#base/clock.ts';
import { quantile } from '#caller/statistics.ts';
import { createLedger } from '#control-plane/accounts/wallet/ledger.ts';
import type { Models } from '#control-plane/platform/store/models.ts';
import { openTestStore } from '#test/control-plane/test-store.ts';
import { judge, toText } from './figures.ts';

const REPLICAS = 5;
const PER_SECOND = 400;
const MAJORITY_MS = 12;
const USER = 'one big account';
const P99_MS = 250;

const seconds = Number(process.argv[2] ?? 20);
const store = await openTestStore();
const entries = acknowledgedLate(store.models.ledger);
const ledgers = Array.from({ length: REPLICAS }, () => createLedger({ entries, clock: systemClock }));
const latencies: number[] = [];
const startMs = performance.now();
await Promise.all(
  Array.from({ length: seconds * PER_SECOND }, async (_, index) => {
    const dueMs = startMs + (1_000 * index) / PER_SECOND;
    await systemClock.sleep(Math.max(0, dueMs - performance.now()));
    await ledgers[index % REPLICAS]?.post({
      userId: USER,
      key: `p${index}`,
      kind: 'settle',
      amountMicros: -1,
    });
    latencies.push(performance.now() - dueMs);
  }),
);
const [ledger] = ledgers;
const flaw = await ledger?.verify(USER);
const wallet = await ledger?.wallet(USER);
const missing = seconds * PER_SECOND + (wallet?.newest.balanceMicros ?? 0);
const load = `${REPLICAS} replicas, ${PER_SECOND} a second, majority after ${MAJORITY_MS} ms`;
const figures = [
  judge({ what: 'posting to one wallet', load, unit: 'ms', samples: latencies.length }, [
    { name: 'p50', value: quantile(latencies, 0.5), limit: P99_MS },
    { name: 'p99', value: quantile(latencies, 0.99), limit: P99_MS },
  ]),
  judge({ what: 'entries missing or wrong', load, unit: '', samples: latencies.length, digits: 0 }, [
    { name: '', value: Math.abs(missing) + (flaw ? 1 : 0), limit: 0 },
  ]),
];
console.log(`\n${toText(figures)}\n`);
process.exitCode = figures.every(({ verdict }) => verdict === 'met') ? 0 : 1;
await store.close();

/** The model, whose inserts are acknowledged late. */
function acknowledgedLate(model: Models['ledger']): Models['ledger'] {
  const collection = new Proxy(model.collection, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'insertOne' && name !== 'insertMany') return value.bind(target);
      return async (...parameters: unknown[]) => {
        try {
          return await value.apply(target, parameters);
        } finally {
          await systemClock.sleep(MAJORITY_MS);
        }
      };
    },
  });
  return new Proxy(model, {
    get: (target, name) => (name === 'collection' ? collection : Reflect.get(target, name, target)),
  });
}

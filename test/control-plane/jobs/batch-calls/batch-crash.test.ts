/**
 * The process that runs a batch is killed at each of its writes in turn; the next process continues from the
 * stored state.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sweep } from '#control-plane/calls/settlement/sweep.ts';
import type { Context } from '#control-plane/platform/context.ts';
import { numbersToCall, openTestBatches, type TestBatches } from './test-batches.ts';

const MINUTE_MS = 60_000;
const WRITES = new Set([
  'create',
  'insertOne',
  'insertMany',
  'updateOne',
  'updateMany',
  'findOneAndUpdate',
  'deleteOne',
  'deleteMany',
  'post',
]);
const [A, B] = numbersToCall(2) as [string, string];

let api: TestBatches;
beforeAll(async () => {
  api = await openTestBatches();
});
afterAll(() => api.close());

interface Doomed {
  readonly context: Context;
  wasKilled(): boolean;
}

const killed = () => new Error('killed');

/** A process that is killed instead of this write, or right after it; nothing it does later has an effect. */
function doomed(context: Context, writes: number, isAfter: boolean): Doomed {
  let left = writes;
  let isDead = false;
  const die = (): never => {
    isDead = true;
    throw killed();
  };
  const intercept = (name: string, act: () => unknown): unknown => {
    if (isDead && name === 'place') return Promise.reject(killed());
    if (isDead) throw killed();
    if (!WRITES.has(name)) return act();
    left -= 1;
    if (left >= 0) return act();
    return isAfter ? lastWrite(act() as Write, die) : die();
  };
  const guarded = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name);
        if (name === 'collection') return guarded(value as object);
        return typeof value === 'function'
          ? (...given: unknown[]) => intercept(String(name), () => value.apply(of, given))
          : value;
      },
    });
  const models = Object.fromEntries(
    Object.entries(context.models).map(([name, model]) => [name, guarded(model)]),
  );
  return {
    context: {
      ...context,
      models: models as unknown as Context['models'],
      ledger: guarded(context.ledger),
      dispatch: guarded(context.dispatch),
    },
    wasKilled: () => isDead,
  };
}

type Write = Promise<unknown> & { lean?: () => Promise<unknown> };

/** A mongoose query runs only when its result is requested. */
function lastWrite(query: Write, die: () => never): Write {
  const done = Promise.resolve(query.lean ? query.lean() : query).then(die);
  return Object.assign(done, { lean: () => done });
}

/** Runs a batch of two whose first process is killed; false if the batch finished before the kill. */
async function playKilled(writes: number, isAfter: boolean): Promise<boolean> {
  api.dispatch.reset();
  const { batch_call_id: id } = await api.start([A, B]);
  const process = doomed(api.context, writes, isAfter);
  await api.pass(process.context);
  if (!process.wasKilled()) return false;
  // The next process sweeps what hangs and dials what waits; every callee answers.
  for (let pass = 0; pass < 4; pass++) {
    await sweep(api.context, { graceMs: 0, startedAtMs: api.clock.wallTime() });
    await api.pass();
    for (const number of new Set(api.dialled())) await api.finish(number, 'answered');
    await api.clock.advance(MINUTE_MS + 1_000);
  }
  const where = `killed ${isAfter ? 'after' : 'before'} write ${writes + 1}`;
  expect((await api.batch(id)).status, where).toBe('completed');
  const dialled = api.dialled();
  expect(dialled, where).toEqual([...new Set(dialled)]);
  // A call that was on its way to its worker may have rung: it is reported as not answered and never
  // redialled.
  const refusalOf = (number: string) => ({
    to_number: number,
    state: dialled.includes(number) ? 'completed' : 'no_answer',
    attempts: [expect.anything()],
  });
  expect(await api.rows(id), where).toEqual([
    expect.objectContaining(refusalOf(A)),
    expect.objectContaining(refusalOf(B)),
  ]);
  return true;
}

it('a batch calls every number once and loses none, whenever its process is killed', {
  timeout: 300_000,
}, async () => {
  await api.newTenant();
  for (const isAfter of [false, true]) {
    let kills = 0;
    while (await playKilled(kills, isAfter)) kills += 1;
    // Two rows, each claimed, charged, placed and confirmed.
    expect(kills).toBeGreaterThan(10);
  }
});

it('two concurrent processes call every number once', { timeout: 300_000 }, async () => {
  await api.context.models.batchCalls.deleteMany({});
  await api.newTenant();
  const numbers = numbersToCall(12);
  await api.start(numbers, { pacing: { concurrent_calls: 100, calls_per_minute: 100 } });
  for (let pass = 0; pass < 2; pass++)
    await Promise.all([api.pass(api.context, 'one'), api.pass(api.context, 'two')]);
  expect(api.dialled()).toEqual(numbers);
  // A process stalled beyond its lease resumes while another has taken over.
  await api.newTenant();
  await api.start(numbers, { pacing: { concurrent_calls: 100, calls_per_minute: 100 } });
  const first = api.pass(api.context, 'one');
  await api.clock.advance(31_000);
  await Promise.all([first, api.pass(api.context, 'two'), api.pass(api.context, 'one')]);
  await api.pass(api.context, 'two');
  await api.clock.advance(31_000);
  await api.pass(api.context, 'one');
  expect(api.dialled().toSorted()).toEqual(numbers);
});

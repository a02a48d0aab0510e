import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import type { TestResponse } from '../test-api.ts';
import { type FaultyCalls, openFaultyCalls, type Tenant } from './faulty-calls.ts';

const PATIENCE = { timeout: 60_000 };
const MOST_MS = 10_000;
/** Real time in which a request that does not wait goes on. */
const QUIET_MS = 20;
/** Erased ten at a time, by four commands. */
const SESSIONS = 25;

/** Limits the waits for the store. */
const waits = new ManualClock();
let calls: FaultyCalls;
let tenant: Tenant;
beforeAll(async () => {
  calls = await openFaultyCalls(waits);
  tenant = await calls.tenant();
});
afterAll(() => calls.close());

const list = () => calls.api.request('GET', '/v1/agent/sessions', { key: tenant.user.key });
const create = (fields: object = {}) =>
  calls.api.request('POST', '/v1/agent/sessions', {
    key: tenant.user.key,
    body: { agent_id: tenant.agentId, ...fields },
  });

/**
 * The answer to a request, and how long it waited for the store. Time passes only while nothing else happens,
 * so that a busy machine does not count as a slow store.
 */
async function waited(request: Promise<TestResponse>): Promise<TestResponse & { readonly ms: number }> {
  const since = waits.now();
  const { promise, resolve } = Promise.withResolvers<'answered'>();
  void request.finally(() => resolve('answered'));
  let dueMs: number | undefined;
  for (;;) {
    const quiet = new Promise<'quiet'>((next) => setTimeout(() => next('quiet'), QUIET_MS));
    if ((await Promise.race([promise, quiet])) === 'answered')
      return { ...(await request), ms: waits.now() - since };
    if (dueMs !== undefined && dueMs === waits.nextDueMs) await waits.advance(dueMs - waits.now());
    dueMs = waits.nextDueMs;
  }
}

async function expectUnavailable(request: Promise<TestResponse>): Promise<void> {
  const { status, headers, body, ms } = await waited(request);
  expect([status, headers['retry-after'], body.message]).toEqual([
    503,
    '5',
    'The database is temporarily unavailable; try again shortly',
  ]);
  expect(ms).toBeLessThanOrEqual(MOST_MS);
}

describe('a request is answered with 503 and Retry-After within ten seconds, and later ones succeed', () => {
  it('store 7: if the primary hangs', PATIENCE, async () => {
    calls.server.freeze();
    await expectUnavailable(list());
    await expectUnavailable(create());
    calls.server.thaw();
    expect((await list()).status).toBe(200);
  });

  it('if writes wait for a majority, each of them for less', PATIENCE, async () => {
    calls.server.faultOf = ({ name }) => (name === 'find' ? null : { is: 'held' });
    await expectUnavailable(create());
    calls.server.faultOf = () => null;
    calls.server.thaw();
    expect((await create()).status).toBe(201);
  });

  it('if connections are refused', PATIENCE, async () => {
    calls.server.refuse();
    await expectUnavailable(list());
    await calls.server.accept();
    expect((await list()).status).toBe(200);
  });

  it.each([10_107, 13_435, 11_600, 11_602, 189, 91, 10_058, 13_436])(
    'store 8: if there is no primary, and the last one answers with %i',
    PATIENCE,
    async (code) => {
      calls.server.stepDown(code);
      await expectUnavailable(list());
      await expectUnavailable(create());
      calls.server.stepUp();
      expect((await list()).status).toBe(200);
    },
  );
});

it('a request during a short failover waits for the new primary', PATIENCE, async () => {
  calls.server.stepDown();
  const answer = create();
  setTimeout(() => calls.server.stepUp(), 200);
  expect((await answer).status).toBe(201);
});

const storedHolds = () => calls.api.context.models.ledger.countDocuments({ kind: 'hold' });

it(
  'requests that queue for one wallet wait no longer than one, and only its charge is sent',
  PATIENCE,
  async () => {
    const before = await storedHolds();
    calls.server.faultOf = ({ collection }) => (collection === 'wallet_ledger' ? { is: 'held' } : null);
    await Promise.all([expectUnavailable(create()), expectUnavailable(create())]);
    calls.server.faultOf = () => null;
    calls.server.thaw();
    expect((await list()).status).toBe(200);
    expect(await storedHolds()).toBe(before + 1);
  },
);

it('requests that wait for one count of all slots wait no longer than one', PATIENCE, async () => {
  const { dispatch } = calls.api;
  expect((await create()).status).toBe(201);
  [dispatch.capacity, dispatch.room] = [30, 3];
  try {
    calls.server.faultOf = ({ name }) => (name === 'count' ? { is: 'held' } : null);
    await Promise.all([expectUnavailable(create()), expectUnavailable(create())]);
  } finally {
    calls.server.faultOf = () => null;
    calls.server.thaw();
    dispatch.reset();
  }
});

it('a request of many commands to a slow store is not cut', PATIENCE, async () => {
  for (let count = 0; count < SESSIONS; count++)
    expect((await create({ end_user_id: 'somebody' })).status).toBe(201);
  const since = waits.now();
  calls.server.faultOf = () => {
    void waits.advance(1_000);
    return null;
  };
  const { status, body } = await calls.api.request('POST', '/v1/agent/erasures', {
    key: tenant.user.key,
    body: { end_user_id: 'somebody' },
  });
  calls.server.faultOf = () => null;
  expect([status, body.sessions]).toEqual([200, SESSIONS]);
  expect(waits.now() - since).toBeGreaterThan(MOST_MS);
});

it(
  'a session whose creation was answered with 503 is not charged, even if the store applies it later',
  PATIENCE,
  async () => {
    const other = await calls.tenant();
    const before = await calls.api.balance(other.user.userId);
    calls.server.freeze();
    await expectUnavailable(
      calls.api.request('POST', '/v1/agent/sessions', {
        key: other.user.key,
        body: { agent_id: other.agentId },
      }),
    );
    calls.server.thaw();
    await calls.settle();
    expect(await calls.endState(other)).toMatchObject({ balance: before, ledgerFlaw: null, unfinished: [] });
  },
);

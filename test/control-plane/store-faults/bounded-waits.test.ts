import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSession } from '#control-plane/calls/sessions/session-store.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import type { TestResponse } from '../test-api.ts';
import { type FaultyCalls, openFaultyCalls, type Tenant } from './faulty-calls.ts';

const PATIENCE = { timeout: 60_000 };
const MOST_MS = 10_000;
const STEP_MS = 500;

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
const create = () =>
  calls.api.request('POST', '/v1/agent/sessions', {
    key: tenant.user.key,
    body: { agent_id: tenant.agentId },
  });

/** The answer to a request, and how long it waited for the store. */
async function waited(request: Promise<TestResponse>): Promise<TestResponse & { readonly ms: number }> {
  const since = waits.now();
  const { promise, resolve } = Promise.withResolvers<'answered'>();
  void request.finally(() => resolve('answered'));
  for (;;) {
    const step = new Promise<'waits'>((next) => setTimeout(() => next('waits'), 5));
    if ((await Promise.race([promise, step])) === 'answered')
      return { ...(await request), ms: waits.now() - since };
    await waits.advance(STEP_MS);
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

it('requests that queue for one wallet wait no longer than one alone', PATIENCE, async () => {
  calls.server.faultOf = ({ collection }) => (collection === 'wallet_ledger' ? { is: 'held' } : null);
  await Promise.all([expectUnavailable(create()), expectUnavailable(create())]);
  calls.server.faultOf = () => null;
  calls.server.thaw();
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

it('a running call outlives a hung store: its reports are stored once it answers', PATIENCE, async () => {
  const { session_id: id } = (await create()).body;
  await calls.api.report(id, { type: 'joined', at: calls.api.at() });
  calls.server.freeze();
  const stored = calls.api.sink.apply(
    [
      {
        session_id: id,
        epoch: 1,
        seq: 2,
        report: { type: 'ended', at: calls.api.at(1_000), end_reason: 'user_hangup' },
      },
    ],
    'worker-1',
  );
  await waits.advance(MOST_MS * 2);
  calls.server.thaw();
  expect(await stored).toEqual({ outcome: 'stored', seq: 2 });
  expect((await loadSession(calls.api.context, id))?.status).toBe('completed');
});

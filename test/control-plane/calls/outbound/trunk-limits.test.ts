import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber, sipOf } from '../../test-numbers.ts';

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
});
beforeEach(async () => {
  api.dispatch.reset();
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});
afterAll(() => api.close());

/** An imported number that dials through this address. */
const number = (termination_uri: string, changes: Record<string, unknown> = {}) =>
  insertNumber(api, user, { provider: 'sip', sip: sipOf({ termination_uri }), ...changes });
const limit = (numberId: string, concurrent_calls: number | null) =>
  api.request('PUT', `/v1/agent/phone-numbers/${numberId}/limits`, {
    key: user.key,
    body: { concurrent_calls, calls_per_minute: 100 },
  });
const call = (numberId: string) =>
  api.request('POST', '/v1/agent/phone-calls', {
    key: user.key,
    body: { agent_id: agentId, phone_number_id: numberId, to_number: '+14155550123' },
  });
const called = async (numberId: string) => (await call(numberId)).status;
const end = (sessionId: string) =>
  api.context.models.sessions.updateOne({ _id: sessionId }, { $set: { status: 'completed' } });

/** Places calls at once: none proceeds until each is refused or about to be placed. */
async function inOneMoment(numberId: string, count: number): Promise<number[]> {
  const all = Promise.withResolvers<void>();
  let decided = 0;
  const decide = () => {
    decided += 1;
    if (decided >= count) all.resolve();
  };
  const { coordination } = api.context;
  const hit = coordination.countInWindow.bind(coordination);
  const held = vi.spyOn(coordination, 'countInWindow').mockImplementation(async (key, ...window) => {
    if (key.startsWith('trunk:')) {
      decide();
      await all.promise;
    }
    return hit(key, ...window);
  });
  const statuses = await Promise.all(Array.from({ length: count }, () => called(numberId).finally(decide)));
  held.mockRestore();
  return statuses;
}

describe('a trunk shared by a number with a limit and one without', () => {
  it('counts the calls of the unlimited number, including those placed before the limit counted', async () => {
    const [limited, free] = [await number('pbx.example.com'), await number('pbx.example.com')];
    await limit(limited, 3);
    expect([await called(free), await called(free)]).toEqual([201, 201]);
    const placed = await Promise.all([1, 2, 3].map(() => called(limited)));
    expect(placed.sort()).toEqual([201, 429, 429]);
    expect(await called(limited)).toBe(429);
  });

  it('gives calls placed at once only the places that the unlimited number leaves', async () => {
    const [limited, free] = [await number('pbx.example.com'), await number('pbx.example.com')];
    await limit(limited, 3);
    await end((await call(limited)).body.session_id);
    expect([await called(free), await called(free)]).toEqual([201, 201]);
    const placed = await inOneMoment(limited, 3);
    expect(placed.sort()).toEqual([201, 429, 429]);
  });

  it('never rejects calls of the unlimited number, each of which takes a place', async () => {
    const [limited, free] = [await number('pbx.example.com'), await number('pbx.example.com')];
    await limit(limited, 2);
    expect(await called(limited)).toBe(201);
    const { body } = await call(free);
    expect(await called(limited)).toBe(429);
    const another = await call(free);
    expect(another.status).toBe(201);
    await end(body.session_id);
    expect(await called(limited)).toBe(429);
    await end(another.body.session_id);
    expect(await called(limited)).toBe(201);
  });

  it('loses no place to a call of the unlimited number that found no free worker', async () => {
    const [limited, free] = [await number('pbx.example.com'), await number('pbx.example.com')];
    await limit(limited, 2);
    expect(await called(limited)).toBe(201);
    api.dispatch.room = 0;
    expect(await called(free)).toBe(503);
    api.dispatch.room = 1;
    expect(await called(limited)).toBe(201);
  });

  it('does not count calls of a number that was imported again with another trunk', async () => {
    const limited = await number('first.example.com');
    await number('first.example.com', { phone_number: '+15550169999', status: 'released' });
    const moved = await number('second.example.com', { phone_number: '+15550169999' });
    await limit(limited, 1);
    expect(await called(moved)).toBe(201);
    expect(await called(limited)).toBe(201);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TestUser } from '../test-api.ts';
import { openTestCalls, type TestCalls } from '../test-calls.ts';

const CAPACITY = 30;
const LAST_TENTH = 3;

let api: TestCalls;
let greedy: TestUser;
let modest: TestUser;

beforeAll(async () => {
  api = await openTestCalls();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.context.models.sessions.deleteMany({});
  await api.clock.advance(60_000);
  api.dispatch.reset();
  api.dispatch.capacity = CAPACITY;
  api.dispatch.room = CAPACITY;
  [greedy, modest] = [await api.createUser(), await api.createUser()];
});

async function create(user: TestUser, count: number) {
  const agent_id = await api.publishAgent(user);
  return Promise.all(Array.from({ length: count }, () => api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } })));
}
const statuses = (answers: readonly { readonly status: number }[]) => answers.map(({ status }) => status).toSorted();

describe('the last tenth of the worker slots', () => {
  it('security 5: is not for the account that holds the others, however many it asks for at once', async () => {
    const answers = await create(greedy, 40);
    expect(statuses(answers)).toEqual([...Array(CAPACITY - LAST_TENTH).fill(201), ...Array(40 - CAPACITY + LAST_TENTH).fill(429)]);
    const refused = answers.find(({ status }) => status === 429);
    expect([refused?.body.reason, refused?.headers['retry-after']]).toEqual(['share_of_workers', '10']);
    expect(statuses(await create(modest, 4))).toEqual([201, 201, 201, 503]);
  });

  it('security 5: is refused without reading the sessions that hold the others', async () => {
    await create(greedy, CAPACITY - LAST_TENTH);
    const find = vi.spyOn(api.context.models.sessions, 'find');
    const [refused] = await create(greedy, 1);
    expect([refused?.status, find.mock.calls.filter(([filter]) => filter && 'worker.instance_id' in filter)]).toEqual([429, []]);
    find.mockRestore();
  });

  it('a full product says when to ask again', async () => {
    api.dispatch.room = 0;
    const [refused] = await create(modest, 1);
    expect([refused?.status, refused?.headers['retry-after']]).toEqual([503, '10']);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const CAPACITY = 30;
const LAST_TENTH = 3;
/** By then, sessions count because they are stored, not because this process placed them. */
const STORED_FOR_SURE_MS = 16_000;

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

/** A function that requests a session of a new agent. */
async function requests(user: TestUser) {
  const agent_id = await api.publishAgent(user);
  return () => api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
}

/** The same, for the status alone. */
async function statusOfRequests(user: TestUser) {
  const request = await requests(user);
  return async () => (await request()).status;
}

async function create(user: TestUser, count: number) {
  const request = await requests(user);
  return Promise.all(Array.from({ length: count }, request));
}
const statuses = (answers: readonly { readonly status: number }[]) =>
  answers.map(({ status }) => status).toSorted();

describe('the last tenth of the worker slots', () => {
  it('security 5: is closed to the account that holds the rest, however many it requests at once', async () => {
    const answers = await create(greedy, 40);
    expect(statuses(answers)).toEqual([
      ...Array(CAPACITY - LAST_TENTH).fill(201),
      ...Array(40 - CAPACITY + LAST_TENTH).fill(429),
    ]);
    const refused = answers.find(({ status }) => status === 429);
    expect([refused?.body.reason, refused?.headers['retry-after']]).toEqual(['share_of_workers', '10']);
    expect(statuses(await create(modest, 4))).toEqual([201, 201, 201, 503]);
  });

  /** Counts the sessions read meanwhile, except the new one, and the counts served from an index. */
  async function watched(work: () => Promise<unknown>) {
    const { collection } = api.context.models.sessions;
    const spies = [
      vi.spyOn(collection, 'find'),
      vi.spyOn(collection, 'findOne'),
      vi.spyOn(collection, 'aggregate'),
    ];
    const counting = vi.spyOn(collection, 'countDocuments');
    await work();
    const filters = spies.flatMap(({ mock }) =>
      mock.calls.map(([asked]) => (Array.isArray(asked) ? (asked[0]?.['$match'] ?? {}) : (asked ?? {}))),
    );
    const counted = counting.mock.calls.map(([filter]) => Object.keys(filter ?? {}));
    for (const spy of [...spies, counting]) spy.mockRestore();
    let read = 0;
    for (const filter of filters.filter(({ _id }) => typeof _id !== 'string'))
      read += (await collection.find(filter).explain())['executionStats'].totalDocsExamined;
    return { read, counted };
  }

  it('security 5: is refused repeatedly with one read of sessions a second and counts from an index', async () => {
    await create(greedy, CAPACITY - LAST_TENTH);
    await api.clock.advance(STORED_FOR_SURE_MS);
    const ask = await statusOfRequests(greedy);
    const { read, counted } = await watched(async () => {
      for (let asked = 0; asked < 10; asked++) expect(await ask()).toBe(429);
    });
    expect(read).toBeLessThanOrEqual(CAPACITY - LAST_TENTH);
    expect(
      counted.filter((fields) => fields.includes('team_id') && fields.includes('status')).length,
    ).toBeGreaterThanOrEqual(10);
    await api.clock.advance(5_000);
    expect((await watched(ask)).read).toBe(CAPACITY - LAST_TENTH);
  });

  /** Fills the slots but for the last tenth; returns a request of an account that holds most of them. */
  async function filled() {
    await create(greedy, 13);
    await create(modest, 14);
    await api.clock.advance(STORED_FOR_SURE_MS);
    return statusOfRequests(modest);
  }

  /** Ends sessions of the account that holds most, so that it holds the fewest. */
  async function endFive() {
    const { sessions } = api.context.models;
    const ended = await sessions.find({ user_id: modest.userId }, { _id: 1 }).limit(5);
    await sessions.deleteMany({ _id: { $in: ended.map(({ _id }) => _id) } });
  }

  it('does not wait for a count while the one before is less than five seconds old', async () => {
    const ask = await filled();
    expect(await ask()).toBe(429);
    await endFive();
    await api.clock.advance(1_000);
    const counting = vi.spyOn(api.context.models.sessions, 'aggregate');
    counting.mockRejectedValueOnce(new Error('the database is away'));
    expect([await ask(), counting.mock.calls.length]).toEqual([429, 1]);
    // A failed count is taken again; one that never comes back is not.
    counting.mockReturnValueOnce(new Promise(() => undefined) as never);
    expect([await ask(), await ask(), counting.mock.calls.length]).toEqual([429, 429, 2]);
    await api.clock.advance(4_000);
    expect([await ask(), counting.mock.calls.length]).toEqual([201, 3]);
    counting.mockRestore();
  });

  it('uses a newer count from the moment it is there', async () => {
    const ask = await filled();
    expect(await ask()).toBe(429);
    await endFive();
    await api.clock.advance(1_000);
    expect(await ask()).toBe(429);
    await vi.waitFor(async () => expect(await ask()).toBe(201));
  });

  it('security 5: is refused before anything is stored or charged', async () => {
    await create(greedy, CAPACITY - LAST_TENTH);
    const { sessions, ledger } = api.context.models;
    const before = [await sessions.countDocuments(), await ledger.countDocuments()];
    expect(statuses(await create(greedy, 3))).toEqual([429, 429, 429]);
    expect([await sessions.countDocuments(), await ledger.countDocuments()]).toEqual(before);
  });

  it('security 5: is given to an account that holds none without counting the others', async () => {
    await create(greedy, CAPACITY - LAST_TENTH);
    const accounts = [
      vi.spyOn(api.context.models.users, 'countDocuments'),
      vi.spyOn(api.context.models.users, 'estimatedDocumentCount'),
    ];
    const sessions = vi.spyOn(api.context.models.sessions, 'aggregate');
    expect(statuses(await create(modest, 1))).toEqual([201]);
    for (const spy of [...accounts, sessions]) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });

  it('security 5: counts what was placed since the last count', async () => {
    const ask = await statusOfRequests(greedy);
    await create(greedy, 13);
    await create(modest, 14);
    // It may hold as many as the other account, and no more.
    expect([await ask(), await ask()]).toEqual([201, 429]);
  });

  it('is refused with the time after which to retry', async () => {
    api.dispatch.room = 0;
    const [refused] = await create(modest, 1);
    expect([refused?.status, refused?.headers['retry-after']]).toEqual([503, '10']);
  });
});

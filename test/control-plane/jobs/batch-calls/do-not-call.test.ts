import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { numbersToCall, openTestBatches, type TestBatches } from './test-batches.ts';

const [A, B] = numbersToCall(2) as [string, string];

let api: TestBatches;
let user: TestUser;
beforeAll(async () => {
  api = await openTestBatches();
});
beforeEach(async () => {
  user = await api.newTenant();
});
afterAll(() => api.close());

describe('/v1/agent/do-not-call', () => {
  it('adds a number once, lists newest first, finds and removes', async () => {
    const add = (phone_number: string) =>
      api.request('POST', '/v1/agent/do-not-call', { key: user.key, body: { phone_number } });
    const first = await add(A);
    expect([first.status, first.body]).toEqual([
      201,
      { phone_number: A, source: 'api', note: '', session_id: null, created_at: expect.any(String) },
    ]);
    await api.clock.advance(1_000);
    expect((await add(A)).body).toEqual(first.body);
    await add(B);
    expect((await add('555')).body.reason).toBe('destination_invalid');
    const list = async (query = '') => {
      const { body } = await api.request('GET', `/v1/agent/do-not-call${query}`, { key: user.key });
      return body.do_not_call.map(({ phone_number }: { phone_number: string }) => phone_number);
    };
    expect(await list()).toEqual([B, A]);
    const otherUser = { key: (await api.createUser()).key };
    expect((await api.request('GET', '/v1/agent/do-not-call', otherUser)).body.do_not_call).toEqual([]);
    expect(
      (await api.request('DELETE', `/v1/agent/do-not-call/${encodeURIComponent(A)}`, otherUser)).status,
    ).toBe(404);
    expect(await list(`?phone_number=${A.slice(1)}`)).toEqual([A]);
    const remove = () =>
      api.request('DELETE', `/v1/agent/do-not-call/${encodeURIComponent(A)}`, { key: user.key });
    expect((await remove()).status).toBe(204);
    expect((await remove()).status).toBe(404);
    expect(await list()).toEqual([B]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../../test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const verify = (key = api.rootKey) => api.request('GET', '/admin/wallets/verify', { key });

describe('GET /admin/wallets/verify', () => {
  it('is for the operator only', async () => {
    expect((await verify((await api.createUser()).key)).status).toBe(403);
  });

  it('counts the entries it read when every ledger adds up', async () => {
    const { entries } = (await verify()).body;
    const user = await api.createUser();
    await api.context.ledger.post({ userId: user.userId, key: 'spent', kind: 'hold', amountMicros: -60_000 });
    const { body } = await verify();
    expect(body).toEqual({
      users: await api.context.models.users.countDocuments(),
      entries: entries + 2,
      flaws: [],
    });
  });

  it('names the first inconsistent entry of every ledger, and a missing entry', async () => {
    const [changed, gapped] = await Promise.all([api.createUser(), api.createUser()]);
    for (const { userId } of [changed, gapped])
      for (const key of ['a', 'b'])
        await api.context.ledger.post({ userId, key, kind: 'hold', amountMicros: -60_000 });
    await api.context.models.ledger.updateOne(
      { user_id: changed.userId, seq: 2 },
      { $set: { amount: -50_000 } },
    );
    await api.context.models.ledger.deleteOne({ user_id: gapped.userId, seq: 2 });
    const { flaws } = (await verify()).body;
    expect(flaws).toHaveLength(2);
    expect(flaws).toContainEqual({
      user_id: changed.userId,
      seq: 2,
      problem: 'balance 9940000 is not the sum 9950000',
    });
    expect(flaws).toContainEqual({ user_id: gapped.userId, seq: 3, problem: 'follows entry 1' });
  });
});

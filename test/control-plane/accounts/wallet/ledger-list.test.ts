import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser();
});
afterAll(() => api.close());

const read = (query = '', key = user.key, whose = 'self') =>
  api.request('GET', `/wallet/${whose}/ledger${query}`, { key });

describe('the ledger of a wallet', () => {
  it('lists every entry newest first, with the balance after it and the call it paid for', async () => {
    const agent_id = await api.publishAgent(user);
    const { body } = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
    await api.request('POST', `/v1/agent/sessions/${body.session_id}/end`, { key: user.key });
    const { entries } = (await read()).body;
    expect(
      entries.map(({ seq, kind, amount, balance, session_id }: Record<string, unknown>) => [
        seq,
        kind,
        amount,
        balance,
        session_id,
      ]),
    ).toEqual([
      [3, 'settle', '0.06', '10.00', body.session_id],
      [2, 'hold', '-0.06', '9.94', body.session_id],
      [1, 'top_up', '10.00', '10.00', null],
    ]);
  });

  it('pages by cursor and by number, in posting order', async () => {
    const first = (await read('?page_size=2')).body;
    const second = (await read(`?page_size=2&cursor=${first.next_cursor}`)).body;
    expect([...first.entries, ...second.entries].map((entry: { seq: number }) => entry.seq)).toEqual([
      3, 2, 1,
    ]);
    expect([first.has_more, second.has_more, second.next_cursor]).toEqual([true, false, null]);
    expect((await read('?page_size=2&page=2')).body).toMatchObject({ entries: second.entries, total: 3 });
  });

  it('is readable by its owner and the operator only', async () => {
    const otherUser = await api.createUser();
    expect((await read('', otherUser.key, user.userId)).status).toBe(404);
    expect((await read('', api.rootKey, user.userId)).body.entries).toHaveLength(3);
  });
});

describe('GET /v1/account', () => {
  it('identifies the key’s owner and what the account may do', async () => {
    const { body } = await api.request('GET', '/v1/account', { key: user.key });
    expect(body).toMatchObject({
      user_id: user.userId,
      team_id: user.teamId,
      is_operator: false,
      beta_access: true,
      daily_cap: null,
    });
    expect((await api.request('GET', '/v1/account', { key: api.rootKey })).body.is_operator).toBe(true);
  });

  it('reports a wallet below a dollar as low', async () => {
    const thrifty = await api.createUser({ credit: '1.00' });
    const isLow = async () => (await api.request('GET', '/v1/account', { key: thrifty.key })).body.low_credit;
    expect(await isLow()).toBe(false);
    await api.context.ledger.post({ userId: thrifty.userId, key: 'spent', kind: 'hold', amountMicros: -1 });
    expect(await isLow()).toBe(true);
  });
});

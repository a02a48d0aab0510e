import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AccountTurns } from '#control-plane/platform/limits/account-turns.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { openTestApi, type TestApi } from '../../test-api.ts';
import { openTestCalls } from '../../test-calls.ts';

/** Requests turns and records the order in which they begin. */
function players(limit: number) {
  const clock = new ManualClock();
  const turns = new AccountTurns(clock, limit);
  const begun: string[] = [];
  const ask = (account: string, name: string) => {
    const turn = turns.take(account);
    void turn.begun.then(() => begun.push(name));
    return turn;
  };
  return { clock, turns, begun, ask, settled: () => new Promise(setImmediate) };
}

describe('turns of accounts', () => {
  it('an account on its own has all its requests processed at once', async () => {
    const { begun, ask, settled } = players(2);
    for (let n = 0; n < 50; n++) ask('ada', `ada ${n}`);
    await settled();
    expect(begun).toHaveLength(50);
  });

  it('while another account asks, an account gets its limit; its other requests queue in order', async () => {
    const { begun, ask, settled } = players(2);
    ask('bob', 'bob').leave(0);
    const [first] = ['a', 'b', 'c', 'd'].map((name) => ask('ada', name));
    ask('bob', 'bob again');
    await settled();
    expect(begun).toEqual(['bob', 'a', 'b', 'bob again']);
    first?.leave(0);
    await settled();
    expect(begun.slice(4)).toEqual(['c']);
  });

  it('ten seconds after the other account’s last request, the limit no longer applies', async () => {
    const { clock, begun, ask, settled } = players(1);
    ask('bob', 'bob').leave(0);
    await clock.advance(10_001);
    ask('ada', 'a');
    ask('ada', 'b');
    await settled();
    expect(begun).toEqual(['bob', 'a', 'b']);
  });

  it('an account without requests is active for ten seconds after a report of its calls', async () => {
    const { clock, turns } = players(1);
    turns.take('ada').leave(0);
    turns.note('bob');
    await clock.advance(10_000);
    expect([turns.hasOthers('ada'), turns.hasOthers('bob')]).toEqual([true, true]);
    turns.note('bob');
    await clock.advance(1);
    expect([turns.hasOthers('ada'), turns.hasOthers('bob')]).toEqual([true, false]);
    await clock.advance(10_000);
    expect(turns.hasOthers('ada')).toBe(false);
  });

  it('a request that takes longer than 250 ms makes room, once', async () => {
    const { clock, begun, ask, settled } = players(1);
    ask('bob', 'bob').leave(0);
    const slow = ask('ada', 'slow');
    for (const name of ['b', 'c']) ask('ada', name);
    await clock.advance(250);
    await settled();
    expect(begun).toEqual(['bob', 'slow', 'b']);
    slow.leave(0);
    await settled();
    expect(begun).toEqual(['bob', 'slow', 'b']);
  });

  it('a request that works in this process keeps its place until it is done', async () => {
    const { clock, turns, begun, ask, settled } = players(1);
    ask('bob', 'bob').leave(0);
    const work = turns.take('ada', { isWork: true });
    ask('ada', 'b');
    await clock.advance(9_000);
    expect(begun).toEqual(['bob']);
    work.leave(0);
    await settled();
    expect(begun).toEqual(['bob', 'b']);
  });

  it('a request abandoned while it waits never begins, and blocks no other', async () => {
    const { begun, ask, settled } = players(1);
    ask('bob', 'bob').leave(0);
    const first = ask('ada', 'a');
    ask('ada', 'gone').leave(0);
    ask('ada', 'c');
    first.leave(0);
    await settled();
    expect(begun).toEqual(['bob', 'a', 'c']);
  });

  it('two hundred requests may wait; one more is refused with advice', () => {
    const { ask } = players(1);
    ask('bob', 'bob');
    for (let n = 0; n < 201; n++) ask('ada', `ada ${n}`);
    expect(() => ask('ada', 'one more')).toThrow(
      'This account has reached its limit of 200 requests waiting at once: wait for their answers',
    );
  });

  it('security 9: waiting requests may hold 4 MiB of bodies; one that begins or leaves makes room', () => {
    const { turns } = players(1);
    void turns.take('bob');
    const first = turns.take('ada');
    const [second] = Array.from({ length: 4 }, () => turns.take('ada', { bytes: 1_048_576 }));
    const one = () => turns.take('ada', { bytes: 1 });
    expect(one).toThrow(
      'This account has reached its limit of 4 requests waiting at once: wait for their answers',
    );
    expect(() => turns.take('ada')).not.toThrow();
    first.leave(0);
    expect(one).not.toThrow();
    second?.leave(0);
    const gone = turns.take('ada', { bytes: 1_048_575 + 1_048_576 - 1 });
    expect(() => turns.take('ada', { bytes: 2 })).toThrow('requests waiting');
    gone.leave(0);
    expect(() => turns.take('ada', { bytes: 2 })).not.toThrow();
  });
});

describe('turns over HTTP', () => {
  let api: TestApi;
  beforeEach(async () => {
    api = await openTestApi({ LIMIT_REQUESTS: '1', LIMIT_AGENTS: '1', OVERDRAFT_LIMIT: '0.50' });
  });
  afterEach(() => api.close());

  const agents = (key: string) => api.request('GET', '/v1/agent/agents', { key });

  /** Resolves when a request of the account that is work of this process has its turn. */
  function workBegun(account: string): Promise<void> {
    const { turns } = api.context;
    const take = turns.take.bind(turns);
    return new Promise((resolve) => {
      vi.spyOn(turns, 'take').mockImplementation((id, options) => {
        const turn = take(id, options);
        if (id === account && options?.isWork) void turn.begun.then(resolve);
        return turn;
      });
    });
  }

  it('a refused request keeps its place for a moment, which slows only its own account', async () => {
    const [greedy, other] = [await api.createUser(), await api.createUser()];
    const create = () =>
      api.request('POST', '/v1/agent/agents', { key: greedy.key, body: { name: 'One more' } });
    expect((await create()).status).toBe(201);
    expect((await agents(other.key)).status).toBe(200);
    expect((await create()).body.reason).toBe('quota_reached');
    let isAnswered = false;
    const next = agents(greedy.key).finally(() => {
      isAnswered = true;
    });
    expect((await agents(other.key)).status).toBe(200);
    expect(isAnswered).toBe(false);
    await api.clock.advance(500);
    expect((await next).status).toBe(200);
  });

  it('security 9: waiting requests whose bodies would fill memory are refused, others answered', async () => {
    const [greedy, other] = [await api.createUser(), await api.createUser()];
    await agents(other.key);
    const held = api.context.turns.take(greedy.userId);
    await agents(other.key);
    const body = { name: 'x'.repeat(255_000) };
    const asked = Array.from({ length: 20 }, () =>
      api.request('POST', '/v1/agent/agents', { key: greedy.key, body }),
    );
    let refused = 0;
    for (const request of asked) void request.then(() => refused++);
    await expect.poll(() => refused).toBe(4);
    held.leave(0);
    const answers = (await Promise.all(asked)).map(({ status, body: { reason } }) => reason ?? status);
    expect(answers.filter((answer) => answer === 'too_many_at_once')).toHaveLength(4);
    expect(answers.filter((answer) => answer === 422)).toHaveLength(16);
  });

  it('refused speech and upload requests take turns, too', async () => {
    const [greedy, other] = [await api.createUser(), await api.createUser()];
    await api.context.ledger.post({
      userId: greedy.userId,
      key: 'spent',
      kind: 'settle',
      amountMicros: -11_000_000,
    });
    await agents(other.key);
    const speak = () =>
      api.request('POST', '/v1/tts', { key: greedy.key, body: { text: 'Hello.', format: 'wav' } });
    expect((await speak()).body.reason).toBe('overdrawn');
    let isAnswered = false;
    const next = speak().finally(() => {
      isAnswered = true;
    });
    expect((await agents(other.key)).status).toBe(200);
    expect(isAnswered).toBe(false);
    await api.clock.advance(500);
    expect((await next).status).toBe(402);
  });

  it('a recipient list waits for its turn before its rows are checked', async () => {
    const [greedy, other] = [await api.createUser(), await api.createUser()];
    await agents(other.key);
    const held = api.context.turns.take(greedy.userId);
    await agents(other.key);
    let isAnswered = false;
    const list = api
      .request('POST', '/v1/agent/batch-calls', { key: greedy.key, body: { recipients: [1, 2] } })
      .finally(() => {
        isAnswered = true;
      });
    for (let request = 0; request < 5; request++) await agents(other.key);
    expect(isAnswered).toBe(false);
    held.leave(0);
    expect((await list).status).toBe(422);
  });

  it('a recipient list keeps its turn during its check, and a moment longer if refused', async () => {
    const [greedy, other] = [await api.createUser(), await api.createUser()];
    await agents(other.key);
    const answered: string[] = [];
    const isChecked = workBegun(greedy.userId);
    const body = { recipients: Array.from({ length: 10_000 }, () => 1) };
    const list = api
      .request('POST', '/v1/agent/batch-calls', { key: greedy.key, body })
      .then(() => answered.push('list'));
    await isChecked;
    await api.clock.advance(250);
    const next = agents(greedy.key).then(() => answered.push('next'));
    await list;
    for (let request = 0; request < 5; request++) await agents(other.key);
    expect(answered).toEqual(['list']);
    await api.clock.advance(500);
    await next;
  });

  it('a checked recipient list gives up its turn and waits for another before creating its batch', async () => {
    const [greedy, other] = [await api.createUser(), await api.createUser()];
    await agents(other.key);
    const first = api.context.turns.take(greedy.userId);
    await agents(other.key);
    let isAnswered = false;
    const recipients = [{ to_number: '+15550140000' }];
    const body = { agent_id: 'unknown', phone_number_id: 'unknown', recipients };
    const list = api.request('POST', '/v1/agent/batch-calls', { key: greedy.key, body }).finally(() => {
      isAnswered = true;
    });
    for (let request = 0; request < 5; request++) await agents(other.key);
    const second = api.context.turns.take(greedy.userId);
    first.leave(0);
    await second.begun;
    for (let request = 0; request < 5; request++) await agents(other.key);
    expect(isAnswered).toBe(false);
    second.leave(0);
    expect((await list).status).toBe(404);
  });
});

describe('turns of requests that need a worker', () => {
  it('a request refused for want of a worker keeps its place for a moment, too', async () => {
    const clock = new ManualClock();
    const api = await openTestCalls({ LIMIT_REQUESTS: '1' }, { clock });
    try {
      api.dispatch.room = 0;
      const [greedy, other] = [await api.createUser(), await api.createUser()];
      const agents = (key: string) => api.request('GET', '/v1/agent/agents', { key });
      const agentId = await api.publishAgent(greedy);
      expect((await agents(other.key)).status).toBe(200);
      const body = { agent_id: agentId };
      expect((await api.request('POST', '/v1/agent/sessions', { key: greedy.key, body })).status).toBe(503);
      let isAnswered = false;
      const next = agents(greedy.key).finally(() => {
        isAnswered = true;
      });
      expect((await agents(other.key)).status).toBe(200);
      expect(isAnswered).toBe(false);
      await clock.advance(500);
      expect((await next).status).toBe(200);
    } finally {
      await api.close();
    }
  });
});

import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Refusals } from '#control-plane/platform/limits/refusals.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { openTestApi, type TestApi } from '../../test-api.ts';

describe('pacing of refusals', () => {
  const clock = new ManualClock();

  it('one client gets four seconds’ worth at once, then waits; another client does not', async () => {
    const refusals = new Refusals(clock, 10);
    for (let n = 0; n < 40; n++) expect(refusals.take('ada')).toBeNull();
    let isSent = false;
    void refusals.take('ada')?.then(() => {
      isSent = true;
    });
    expect(refusals.take('bob')).toBeNull();
    await clock.advance(99);
    expect(isSent).toBe(false);
    await clock.advance(1);
    expect(isSent).toBe(true);
  });

  it('ten seconds’ worth of refusals may wait; beyond that the connection is closed', async () => {
    const refusals = new Refusals(clock, 10);
    for (let n = 0; n < 140; n++) void refusals.take('ada');
    expect(await refusals.take('ada')).toBe(false);
  });

  it('addresses of one IPv6 /64 are one client', () => {
    const refusals = new Refusals(clock, 1);
    for (let n = 0; n < 4; n++) expect(refusals.takeFor(`2001:db8::${n}`)).toBeNull();
    expect(refusals.takeFor('2001:db8::ffff')).not.toBeNull();
    expect(refusals.takeFor('2001:db8:0:1::1')).toBeNull();
  });

  it('refused calls get a tenth of the pace, and wait at most two seconds', async () => {
    const refusals = new Refusals(clock, 10);
    const answered: number[] = [];
    for (let n = 0; n < 8; n++) void refusals.throttleCall('ada').then(() => answered.push(n));
    await clock.advance(0);
    // Four are answered at once, two wait their second, and those that would wait longer are refused now.
    expect(answered).toEqual([0, 1, 2, 3, 6, 7]);
    await clock.advance(2_000);
    expect(answered).toEqual([0, 1, 2, 3, 6, 7, 4, 5]);
  });

  it('idle clients are forgotten', async () => {
    const refusals = new Refusals(clock, 1_000);
    for (let n = 0; n < 100; n++) void refusals.take(`client ${n}`);
    await clock.advance(10_000);
    void refusals.take('one more');
    expect(refusals.size).toBe(1);
  });
});

describe('refusals over HTTP', () => {
  let api: TestApi;
  beforeEach(async () => {
    api = await openTestApi({ LIMIT_REFUSALS_PER_SECOND: '1', LIMIT_REQUESTS: '1' });
  });
  afterEach(() => api.close());

  /**
   * Sends as many refused requests as the pace allows at once, then one more; returns it and whether it was
   * answered.
   */
  async function refuseOneTooMany(send: () => Promise<{ status: number }>) {
    for (let n = 0; n < 4; n++) await send();
    const state = { isAnswered: false };
    const last = send().finally(() => {
      state.isAnswered = true;
    });
    return { state, last };
  }

  it('requests without a key are refused at a pace, while requests with a key are answered', async () => {
    const { state, last } = await refuseOneTooMany(() => api.request('GET', '/v1/agent/agents'));
    expect((await api.request('GET', '/v1/agent/agents', { key: api.rootKey })).status).toBe(200);
    expect(state.isAnswered).toBe(false);
    await api.clock.advance(1_000);
    expect((await last).status).toBe(401);
  });

  it('malformed JSON is refused at its account’s pace, while other accounts are answered', async () => {
    const greedy = await api.createUser();
    const { state, last } = await refuseOneTooMany(() =>
      api.request('POST', '/v1/agent/agents', { key: greedy.key, raw: '{{' }),
    );
    expect((await api.request('POST', '/v1/agent/agents', { key: api.rootKey, raw: '{{' })).status).toBe(400);
    expect(state.isAnswered).toBe(false);
    await api.clock.advance(1_000);
    expect((await last).status).toBe(400);
  });

  it('security 9: requests refused because too many wait are refused at their account’s pace', async () => {
    const [greedy, other] = [await api.createUser(), await api.createUser()];
    const agents = (key: string) => api.request('GET', '/v1/agent/agents', { key });
    await agents(other.key);
    for (let n = 0; n < 201; n++) void api.context.turns.take(greedy.userId);
    const { state, last } = await refuseOneTooMany(() => agents(greedy.key));
    for (let n = 0; n < 5; n++) expect((await agents(other.key)).status).toBe(200);
    expect(state.isAnswered).toBe(false);
    await api.clock.advance(1_000);
    expect((await last).status).toBe(429);
  });

  it('refusals beyond schema errors are not paced', async () => {
    const { key } = await api.createUser();
    for (let n = 0; n < 10; n++)
      expect((await api.request('GET', '/v1/agent/agents/unknown', { key })).status).toBe(404);
  });

  it('bytes that are not HTTP are answered with 400 at the pace of refusals', async () => {
    const { port } = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));
    const garbage = () =>
      new Promise<string>((resolve) => {
        const socket = connect(Number(port), '127.0.0.1', () => socket.write('{'.repeat(8_000)));
        let answer = '';
        socket.on('data', (bytes) => {
          answer += bytes;
        });
        socket.on('error', () => undefined).on('close', () => resolve(answer));
      });
    for (let n = 0; n < 4; n++) expect(await garbage()).toContain('HTTP/1.1 400 Bad Request');
    let isAnswered = false;
    const last = garbage().finally(() => {
      isAnswered = true;
    });
    for (let n = 0; n < 10; n++)
      expect((await api.request('GET', '/v1/agent/agents', { key: api.rootKey })).status).toBe(200);
    expect(isAnswered).toBe(false);
    await api.clock.advance(1_000);
    expect(await last).toContain('{"status":400,"message":"Bad Request","reason":null}');
  });
});

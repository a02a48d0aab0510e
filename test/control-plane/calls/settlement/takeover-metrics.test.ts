import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { fault } from '#config/errors.ts';
import { sampleIn } from '#test/fakes/metric-sample.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
beforeAll(async () => {
  api = await openTestCalls();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.context.models.sessions.deleteMany({});
  api.dispatch.reset();
});

const UNTOLD = 'parley_takeovers_total{kind="hand_over",outcome="untold"}';
const HANDED_OVER = 'parley_takeovers_total{kind="hand_over",outcome="moved"}';
const HAND_OVER_LOST = 'parley_takeovers_total{kind="hand_over",outcome="lost"}';
const MOVED = 'parley_takeovers_total{kind="failover",outcome="moved"}';
const LOST = 'parley_takeovers_total{kind="failover",outcome="lost"}';

/** The changes of these series since this call. */
async function changesOf(...series: string[]): Promise<() => Promise<number[]>> {
  const read = async () => {
    const { body } = await api.context.metrics.meters.scrape();
    return series.map((name) => sampleIn(body, name) ?? 0);
  };
  const before = await read();
  return async () =>
    (await read()).map((value, index) => Math.round((value - (before[index] ?? 0)) * 10) / 10);
}

async function joinedCall(): Promise<string> {
  const user = await api.createUser();
  const agent_id = await api.publishAgent(user);
  const { body } = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
  await api.report(body.session_id, { type: 'joined', at: api.at() });
  return body.session_id;
}

const offer = (sessionId: string) =>
  api.sink.handOver('worker-1', {
    sessionId,
    epoch: 1,
    isBetweenTurns: true,
    confirmsLeaving: false,
    givesStream: false,
    canWait: false,
    variables: {},
  });

it('a call moved after a death is counted, with the time for which no worker had it', async () => {
  await joinedCall();
  const changes = await changesOf(MOVED, 'parley_takeover_gap_seconds_sum{kind="failover"}');
  await api.sink.workerDead('worker-1', new Date(api.clock.wallTime() - 1_500));
  expect(await changes()).toEqual([1, 1.5]);
});

it('a call that a draining worker hands over is counted, and how long no worker had it', async () => {
  const id = await joinedCall();
  const changes = await changesOf(HANDED_OVER, 'parley_takeover_gap_seconds_count{kind="hand_over"}');
  await offer(id);
  expect(await changes()).toEqual([1, 1]);
});

it.each([
  ['a third worker takes counts as moved once, never as lost', 1, [1, 0, 1, 0]],
  ['no third worker takes counts as lost once', 0, [1, 0, 0, 1]],
])('a call offered to a worker that goes out of reach and that %s', async (_, room, expected) => {
  const id = await joinedCall();
  const changes = await changesOf(UNTOLD, HAND_OVER_LOST, MOVED, LOST);
  const assign = vi.spyOn(api.dispatch, 'assign').mockImplementationOnce(() => {
    Object.assign(api.dispatch, { room, successorComes: room > 0 });
    throw fault('gateway_unreachable');
  });
  expect(await offer(id)).toBe(true);
  assign.mockRestore();
  expect(await changes()).toEqual(expected);
});

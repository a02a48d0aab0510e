/** Alerts about rates that leave their bands: by the API, by webhook, once each. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import { startScoreCounter } from '#control-plane/operations/scorecard/score-counter.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { dyingAfter, untilItDies } from '../analytics/dying-store.ts';
import { ScoredAgent } from './scored-agent.ts';

let api: TestCalls;
let agent: ScoredAgent;
let receiver: WebhookReceiver;

beforeAll(async () => {
  api = await openTestCalls({ STARTING_CREDIT: '1000.00' });
  receiver = await openWebhookReceiver();
});
afterAll(async () => {
  await receiver.close();
  await api.close();
});
beforeEach(async () => {
  api.dispatch.reset();
  agent = await ScoredAgent.open(api, {
    scorecard: { alerts: [{ rate: 'dead_air', above: 0.1 }] },
    webhooks: { post_call: [{ url: receiver.url, secret: 's', extra_events: ['scorecard.alert'] }] },
  });
});

const ALERT = {
  ...{ alert_id: 'a', rate: 'loop', side: 'above', limit: 0.1, calls: 40, hits: 40 },
  ...{ opened_at: new Date(), since: new Date(), closed_at: null, close_reason: null },
};
const silent = async (count: number) => agent.copy(await agent.call({ silentMs: 5_000 }), count - 1);
const good = async (count: number) => agent.copy(await agent.call(), count - 1);
const events = () =>
  api.context.models.deliveries.countDocuments({ team_id: agent.user.teamId, event: 'scorecard.alert' });

async function deliver() {
  for (let round = 0; round < 3; round++) {
    const deliverer = startDeliverer(api.context);
    await deliverer.idle();
    await deliverer.close();
  }
  const bodies = receiver.received.map(({ body }) => body);
  return bodies.filter(({ event, alert }) => event === 'scorecard.alert' && alert.agent_id === agent.id);
}

describe('a rate that leaves its band', () => {
  it('opens an alert with what it is made of', async () => {
    await good(40);
    await agent.count();
    await silent(40);
    await agent.count();
    const { rules, open, closed } = await agent.alerts();
    expect(rules).toEqual([{ rate: 'dead_air', above: 0.1, below: null, at_least_calls: 30 }]);
    expect(open).toMatchObject([
      { rate: 'dead_air', side: 'above', limit: 0.1, calls: 30, hits: 30, observed: 1, closed_at: null },
    ]);
    expect(closed).toEqual([]);
  });

  it('is told to the endpoint that asks for it, when it leaves and when it is back', async () => {
    await silent(40);
    await agent.count();
    await good(200);
    await agent.count();
    expect(await deliver()).toMatchObject([
      { alert: { state: 'open', rate: 'dead_air', observed: 1, close_reason: null } },
      { alert: { state: 'closed', rate: 'dead_air', close_reason: 'returned' } },
    ]);
    const { open, closed } = await agent.alerts();
    expect([open.length, closed.length]).toEqual([0, 1]);
  });

  it('needs enough calls', async () => {
    await silent(29);
    await agent.count();
    expect((await agent.alerts()).open).toEqual([]);
  });

  it('is counted in the metrics', async () => {
    const opened = async () => {
      const { text } = await api.request('GET', '/metrics');
      return Number(/^parley_scorecard_alerts_total\{state="open"\} (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const before = await opened();
    await silent(40);
    await agent.count();
    expect(await opened()).toBe(before + 1);
  });

  it.each([0, 1, 2, 3, 4, 5, 6])('is told of once although the process dies at write %i', async (writes) => {
    await silent(40);
    for (const isApplied of [true, false])
      await untilItDies(agent.count(dyingAfter(api.context, writes, isApplied)));
    await Promise.all([agent.count(), agent.count()]);
    await agent.count();
    expect((await agent.alerts()).open).toHaveLength(1);
    expect(await events()).toBe(1);
    expect((await agent.watch())?.is_untold).toBeUndefined();
  });

  it('is told although that of another agent cannot be', async () => {
    const { scoreWatches, sessions } = api.context.models;
    await silent(40);
    const broken = await agent.call();
    await sessions.collection.updateOne(
      { _id: broken } as never,
      { $set: { wrapped_key: Buffer.alloc(60) } } as never,
    );
    await scoreWatches.collection.insertOne({
      ...{ _id: '0', team_id: agent.user.teamId, rev: 1, rates: [], closed: [], recent: [] },
      ...{ session_id: broken, is_untold: true },
      untold: [{ alert: ALERT, session_id: broken, version_id: 'v' }],
    } as never);
    await sessions.collection.updateOne({ _id: broken } as never, { $set: { due: 0 } } as never);
    await expect(agent.count()).rejects.toThrow();
    expect(await events()).toBe(1);
    await scoreWatches.deleteOne({ _id: '0' });
  });

  it('is found by the loop of a replica', async () => {
    await silent(40);
    const loop = startScoreCounter(api.context);
    await loop.idle();
    await loop.close();
    expect((await agent.alerts()).open).toHaveLength(1);
  });
});

describe('an alert', () => {
  it('is closed when its rule is changed or removed', async () => {
    await silent(40);
    await agent.count();
    await agent.publish({ scorecard: null });
    await agent.call();
    await agent.count();
    const { rules, open, closed } = await agent.alerts();
    expect([rules, open]).toEqual([[], []]);
    expect(closed).toMatchObject([{ close_reason: 'changed' }]);
  });

  it('is also opened by a rate below its band, and by a criterion', async () => {
    await agent.publish({
      scorecard: { alerts: [{ rate: 'criterion:booked', below: 0.5, above: 0.9, at_least_calls: 10 }] },
    });
    for (let call = 0; call < 30; call++) await agent.call({ booked: 'success' });
    await agent.call({ booked: 'unknown' });
    await agent.count();
    expect((await agent.alerts()).open).toMatchObject([
      { rate: 'criterion:booked', side: 'below', limit: 0.5, hits: 0 },
    ]);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import { startShareCounter } from '#control-plane/operations/shares/share-counter.ts';
import { DUE_BITS, dueIn } from '#control-plane/platform/store/session-due.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { dyingAfter, untilItDies } from '../analytics/dying-store.ts';
import { SharedAgent } from './shared-agent.ts';

let api: TestCalls;
let agent: SharedAgent;
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
  agent = await SharedAgent.open(api, {
    webhooks: { post_call: [{ url: receiver.url, secret: 's', extra_events: ['share.stopped'] }] },
  });
  await agent.set({ share: 0.5, at_least_calls: 10 });
});

/** Forty calls with each version; those of the share are slow. */
async function harm(): Promise<void> {
  await agent.copy(await agent.call('share', { waitMs: 4_000 }), 39);
  await agent.copy(await agent.call('published'), 39);
}
const stops = () => api.context.models.auditLog.countDocuments({ resource_id: agent.id, action: /^STOP / });
const events = () =>
  api.context.models.deliveries.countDocuments({ team_id: agent.user.teamId, event: 'share.stopped' });
const stopsInMetrics = async () => {
  const { text } = await api.request('GET', '/metrics');
  return Number(/^parley_shares_ended_total\{reason="harm"\} (\d+)$/m.exec(text)?.[1] ?? 0);
};
const rateOf = (arm: { rates: { measure: string }[] }, measure: string) =>
  arm.rates.find((one) => one.measure === measure);

describe('ended calls of a share', () => {
  it('are counted for their version, with what happened in them', async () => {
    await agent.call('share', { waitMs: 2_500 });
    await agent.call('share', { reason: 'internal_error' });
    await agent.call('published', { reason: 'escalated' });
    await agent.count();
    const { share, published } = (await agent.read()).arms;
    expect(share).toMatchObject({ version_number: 2, calls: 2, average_seconds: 10, latency: { turns: 2 } });
    expect(rateOf(share, 'slow')).toMatchObject({ calls: 2, hits: 1, rate: 0.5 });
    expect(rateOf(share, 'failed')).toMatchObject({ calls: 2, hits: 1 });
    expect(rateOf(share, 'unsuccessful')).toMatchObject({ calls: 0, rate: null });
    expect(rateOf(published, 'transferred')).toMatchObject({ calls: 1, hits: 1 });
  });

  it('wait for their analysis, but not for ever', async () => {
    const id = await agent.call('share');
    const { sessions } = api.context.models;
    const waiting = { $set: { 'analysis.state': 'queued' }, $bit: { due: { or: DUE_BITS.analysis } } };
    await sessions.collection.updateOne({ _id: id } as never, waiting as never);
    await agent.count();
    expect((await agent.read()).arms.share.calls).toBe(0);
    api.clock.stall(11 * 60_000);
    await agent.count();
    expect((await agent.read()).arms.share.calls).toBe(1);
  });

  it('are not counted if caller and agent never met', async () => {
    const id = await agent.begin(await agent.personIn('share'));
    await agent.request('POST', `/v1/agent/sessions/${id}/end`);
    await agent.count();
    expect((await agent.read()).arms.share.calls).toBe(0);
    expect(await api.context.models.sessions.countDocuments(dueIn('share'))).toBe(0);
  });

  it.each([0, 1, 2, 3])('are counted once each although the process dies at write %i', async (writes) => {
    for (const isApplied of [true, false]) {
      await agent.call('share');
      await agent.call('published');
      await untilItDies(agent.count(dyingAfter(api.context, writes, isApplied)));
    }
    await agent.count();
    const { share, published } = (await agent.read()).arms;
    expect([share.calls, published.calls]).toEqual([2, 2]);
  });

  it('are counted once by two replicas at the same time', async () => {
    await agent.copy(await agent.call('share'), 24);
    await Promise.all([agent.count(), agent.count()]);
    await agent.count();
    expect((await agent.read()).arms.share.calls).toBe(25);
    await agent.call('share');
    await agent.count();
    expect((await agent.stored()).recent).toHaveLength(1);
  });

  it('of an ended share change nothing any more', async () => {
    const id = await agent.call('share');
    await agent.request('DELETE', `${agent.path}/share`);
    await agent.count();
    expect((await agent.read()).arms.share.calls).toBe(0);
    expect(await api.context.models.sessions.countDocuments({ _id: id, ...dueIn('share') })).toBe(0);
  });
});

describe('a share whose version does harm', () => {
  it('is stopped with its figures; new calls get the published version, live ones go on', async () => {
    const live = await agent.begin(await agent.personIn('share'));
    await harm();
    await agent.count();
    const ended = await agent.read();
    expect(ended).toMatchObject({
      status: 'ended',
      end_reason: 'harm',
      harm: { measure: 'slow', difference: 1 },
      arms: { share: { calls: 40 }, published: { calls: 40 } },
    });
    expect(ended.harm.low).toBeGreaterThan(0);
    expect(ended.summary).toContain('more slow calls');
    expect(await agent.session(live)).toMatchObject({ status: 'pending', share: { version_number: 2 } });
    const next = await agent.session(await agent.begin(await agent.personIn('share')));
    expect(next.share).toBeUndefined();
  });

  it('is told of once: an event, an entry of the audit log, a metric', async () => {
    const before = await stopsInMetrics();
    await harm();
    await agent.count();
    await agent.count();
    expect([await stops(), await events()]).toEqual([1, 1]);
    const [event] = await api.context.models.deliveries.find({
      event: 'share.stopped',
      team_id: agent.user.teamId,
    });
    expect(event).toMatchObject({ url: receiver.url, session_id: expect.any(String) });
    expect(await stopsInMetrics()).toBe(before + 1);
  });

  it('is told to the endpoint that asks for it', async () => {
    await harm();
    await agent.count();
    const deliverer = startDeliverer(api.context);
    await deliverer.idle();
    await deliverer.close();
    const bodies = receiver.received.map(({ body }) => body);
    expect(
      bodies.find(({ event, share }) => event === 'share.stopped' && share.agent_id === agent.id),
    ).toMatchObject({
      share: {
        version_number: 2,
        published_version_number: 1,
        measure: 'slow',
        difference: 1,
        calls: { calls: 40, hits: 40 },
        published_calls: { calls: 40, hits: 0 },
      },
    });
  });

  it.each([0, 1, 2, 3, 4, 5])(
    'is stopped and told of once although the process dies at write %i',
    async (writes) => {
      await harm();
      for (const isApplied of [true, false])
        await untilItDies(agent.count(dyingAfter(api.context, writes, isApplied)));
      await Promise.all([agent.count(), agent.count()]);
      expect((await agent.read()).end_reason).toBe('harm');
      expect([await stops(), await events()]).toEqual([1, 1]);
      expect((await agent.stored()).is_untold).toBeUndefined();
    },
  );

  it('is told of although another share has been set meanwhile', async () => {
    await harm();
    await agent.count(dyingAfter(api.context, 1, true)).catch(() => undefined);
    expect((await agent.stored()).is_untold).toBe(true);
    expect((await agent.set({ share: 0.2, version: 2 })).body.status).toBe('running');
    await agent.count();
    expect([await stops(), await events()]).toEqual([1, 1]);
    expect((await agent.read()).status).toBe('running');
  });

  it('is told of although that of another agent cannot be', async () => {
    const { sessions, shares } = api.context.models;
    await harm();
    await agent.count(dyingAfter(api.context, 1, true)).catch(() => undefined);
    const stopped = await agent.stored();
    const broken = await agent.call('published');
    await sessions.collection.updateOne(
      { _id: broken } as never,
      { $set: { wrapped_key: Buffer.alloc(60), due: 0 } } as never,
    );
    const untold = (stopped.untold ?? []).map((stop) => ({ ...stop, session_id: broken }));
    await shares.updateOne({ _id: agent.id }, { $set: { untold } });
    const other = (stopped.untold ?? []).map((stop) => ({ ...stop, share_id: 'other' }));
    await shares.collection.insertOne({ ...stopped, _id: '~', untold: other } as never);
    await expect(agent.count()).rejects.toThrow();
    expect(await events()).toBe(1);
    await shares.deleteMany({ _id: { $in: [agent.id, '~'] } });
  });

  it('is found by the loop of a replica', async () => {
    await harm();
    const loop = startShareCounter(api.context);
    await loop.idle();
    await loop.close();
    expect((await agent.read()).end_reason).toBe('harm');
  });
});

import { setImmediate as nextRound } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

/** Attempts of one process at once (delivery-scheduler.ts). */
const SLOTS = 256;
/** Only ends what hangs: hundreds of deliveries take seconds, and a minute on a busy machine. */
const PATIENCE = { timeout: 150_000 };

let api: TestCalls;
let receiver: WebhookReceiver;
let deliverer: BackgroundLoop | undefined;

beforeEach(async () => {
  api = await openTestCalls();
  receiver = await openWebhookReceiver();
});
afterEach(async () => {
  await deliverer?.close();
  await receiver.close();
  await api.close();
});

/**
 * Puts webhooks into the queue, each to a path of its own that begins with its team: copies of a real one,
 * because hundreds of teams with an agent and a call take minutes.
 */
async function queue(webhooks: readonly { readonly team: string; readonly path: string }[]): Promise<void> {
  const { deliveries } = api.context.models;
  const user = await api.createUser();
  const agent_id = await api.publishAgent(user, { webhooks: { post_call: [{ url: `${receiver.url}/` }] } });
  const created = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
  const id: string = created.body.session_id;
  await api.report(id, { type: 'joined', at: api.at() });
  await api.report(id, { type: 'ended', at: api.at(), end_reason: 'agent_hangup' });
  await expect.poll(() => deliveries.countDocuments({ state: 'pending' })).toBe(1);
  const original = await deliveries.findOneAndDelete({ state: 'pending' }).lean();
  if (!original) throw new Error('no delivery');
  const event = original._id.slice(0, original._id.lastIndexOf(':'));
  await deliveries.insertMany(
    webhooks.map(({ team, path }, index) => ({
      ...original,
      _id: `${event}:${index}`,
      team_id: team,
      url: `${receiver.url}${path}`,
    })),
  );
}

/** Delays reads of one team's queue, and fails those of another. */
function delayReads(slow: string, until: Promise<void>, failing?: string) {
  const { deliveries } = api.context.models;
  const reads: string[] = [];
  const find = deliveries.find.bind(deliveries);
  vi.spyOn(deliveries, 'find').mockImplementation(((filter: { team_id: string }) => {
    reads.push(filter.team_id);
    if (filter.team_id === failing) throw new Error('the store is away');
    if (filter.team_id !== slow) return find(filter);
    const due = (limit: number) => until.then(() => find(filter).sort({ next_at: 1 }).limit(limit).lean());
    return { sort: () => ({ limit: (limit: number) => ({ lean: () => due(limit) }) }) };
  }) as never);
  return { reads, find };
}

const paths = () => receiver.received.map(({ path }) => path);

describe('the webhooks of many teams', () => {
  it.each([
    { when: 'after a pass over the teams', isDuring: false },
    { when: 'during a pass over the teams', isDuring: true },
  ])(
    'take turns: no team gets a second turn before another’s first, when a slot becomes free $when',
    { timeout: 180_000 },
    async ({ isDuring }) => {
      const teams = Array.from({ length: SLOTS + 1 }, (_, index) => `team-${String(index).padStart(3, '0')}`);
      const [first = '', last = ''] = [teams[0], teams.at(-1)];
      await queue(
        teams.flatMap((team) => [
          { team, path: `/${team}/1` },
          { team, path: `/${team}/2` },
        ]),
      );
      receiver.answer = ({ path }) => (path.startsWith(`/${first}/`) ? { status: 200 } : 'hang');
      const slow = Promise.withResolvers<void>();
      if (isDuring) delayReads(teams[1] ?? '', slow.promise);
      deliverer = startDeliverer(api.context);
      const { deliveries } = api.context.models;
      const delivered = () => deliveries.countDocuments({ state: 'delivered' });
      await expect.poll(delivered, PATIENCE).toBe(1);
      for (let round = 0; round < 50; round++) await nextRound();
      slow.resolve();
      // All slots are taken by endpoints that hang, after the one of the first team was free again.
      await expect.poll(() => paths().length, PATIENCE).toBe(SLOTS + 1);
      const cameOf = (team: string) => paths().filter((path) => path.startsWith(`/${team}/`)).length;
      expect([cameOf(first), cameOf(last)]).toEqual([1, 1]);
    },
  );

  it('end with a close, also after a failed read of the queue: nothing is sent after it', async () => {
    await queue([
      { team: 'a', path: '/a' },
      { team: 'b', path: '/b' },
    ]);
    const read = Promise.withResolvers<void>();
    const { reads, find } = delayReads('b', read.promise, 'a');
    deliverer = startDeliverer(api.context);
    await expect.poll(() => reads).toEqual(['a', 'b']);
    let isClosed = false;
    const closed = deliverer.close().then(() => {
      isClosed = true;
    });
    for (let round = 0; round < 20; round++) await nextRound();
    expect(isClosed).toBe(false);
    read.resolve();
    await closed;
    expect(paths()).toEqual([]);
    expect(await find({ lease: null, attempts: 0 }).countDocuments()).toBe(2);
  });
});

import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { relayOutbox } from '#control-plane/calls/outbox/relay.ts';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import { resendDelivery } from '#control-plane/calls/webhooks/resend.ts';
import { erasePerson } from '#control-plane/operations/privacy/erase.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import type { OutboxEvent, SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let receiver: WebhookReceiver;
let deliverers: BackgroundLoop[];

beforeAll(async () => {
  api = await openTestCalls();
});
beforeEach(async () => {
  user = await api.createUser();
  receiver = await openWebhookReceiver();
  deliverers = [];
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const deliverer of deliverers) await deliverer.close();
  await receiver.close();
  const { deliveries, sessions } = api.context.models;
  await Promise.all([deliveries.deleteMany({}), sessions.deleteMany({})]);
});
afterAll(() => api.close());

async function publish(paths: readonly string[]): Promise<string> {
  return api.publishAgent(user, {
    webhooks: { post_call: paths.map((path) => ({ url: `${receiver.url}${path}` })) },
  });
}

/** An ended call of this agent; its `call.ended` has been handed to the deliveries. */
async function endedCall(agentId: string, fields: Record<string, unknown> = {}): Promise<string> {
  const { session_id: id } = (
    await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId, ...fields } })
  ).body;
  await api.report(id, { type: 'joined', at: api.at() });
  await api.report(id, { type: 'ended', at: api.at(), end_reason: 'agent_hangup' });
  return id;
}

/** Stores this outbox in the session and returns it. */
async function withOutbox(id: string, outbox: readonly OutboxEvent[]): Promise<SessionDocument> {
  const stored = await api.context.models.sessions
    .findOneAndUpdate({ _id: id }, { $set: { outbox } }, { returnDocument: 'after' })
    .lean<SessionDocument>();
  if (!stored) throw new Error('no such session');
  return stored;
}

/** An event `rank` places after the end of the call. */
async function eventAfter(id: string, rank: number): Promise<OutboxEvent> {
  const first = await api.context.models.deliveries.findOne({ session_id: id }).lean();
  if (!first) throw new Error('no delivery');
  return {
    id: `${id}:call.analyzed:${rank}`,
    event: 'call.analyzed',
    rank: 2 + rank,
    at: first.created_at,
    payload: first.payload,
  };
}

async function states(id: string): Promise<string[]> {
  const rows = await api.context.models.deliveries
    .find({ session_id: id })
    .sort({ url: 1, rank: 1, _id: 1 })
    .lean();
  return rows.map(({ url, rank, state }) => `${new URL(url).pathname} ${rank} ${state}`);
}

/** Runs this around the next insert of deliveries. */
function aroundInsert(work: (insert: () => Promise<unknown>) => Promise<unknown>): void {
  const { collection } = api.context.models.deliveries;
  const insertMany = collection.insertMany.bind(collection);
  vi.spyOn(collection, 'insertMany').mockImplementationOnce(
    (...values) => work(() => insertMany(...values)) as never,
  );
}

/** Resolves when the next attempt has had its answer. */
async function nextAnswer(): Promise<void> {
  const { webhookAttempts } = api.context.metrics;
  const observe = webhookAttempts.observe.bind(webhookAttempts);
  await new Promise<void>((resolve) => {
    vi.spyOn(webhookAttempts, 'observe').mockImplementationOnce((...values) => {
      observe(...values);
      resolve();
    });
  });
  // The deliverer goes on with it.
  await new Promise(setImmediate);
}

async function erase(endUserId: string): Promise<void> {
  await erasePerson(api.context, user.teamId, { endUserId, phoneNumber: undefined });
}

async function deliver(count = 1): Promise<void> {
  for (let index = 0; index < count; index++) deliverers.push(startDeliverer(api.context));
  await Promise.all(deliverers.map((deliverer) => deliverer.idle()));
}

it('webhooks: an outbox relayed by two processes is delivered once, first event per endpoint due', async () => {
  const id = await endedCall(await publish(['/a', '/b']));
  await api.context.models.deliveries.updateMany({ session_id: id }, { $set: { state: 'delivered' } });
  const session = await withOutbox(id, [await eventAfter(id, 1), await eventAfter(id, 2)]);
  await Promise.all([relayOutbox(api.context, session), relayOutbox(api.context, session)]);
  await relayOutbox(api.context, session);
  expect(await states(id)).toEqual([
    '/a 2 delivered',
    '/a 3 pending',
    '/a 4 queued',
    '/b 2 delivered',
    '/b 3 pending',
    '/b 4 queued',
  ]);
  expect((await api.context.models.sessions.findById(id).lean())?.outbox).toEqual([]);
});

it('webhooks: an event waits behind another that was inserted after the check for it', async () => {
  const id = await endedCall(await publish(['/a', '/b']));
  await api.context.models.deliveries.updateMany({ session_id: id }, { $set: { state: 'delivered' } });
  const session = await withOutbox(id, [await eventAfter(id, 1)]);
  aroundInsert(async (insert) => {
    await resendDelivery(api.context, { sessionId: id, deliveryId: `${id}:call.ended:0` });
    return insert();
  });
  await relayOutbox(api.context, session);
  expect(await states(id)).toEqual(['/a 2 pending', '/a 3 queued', '/b 2 delivered', '/b 3 pending']);
});

it('webhooks: deliveries beyond the places are all sent once by two processes, without waiting', async () => {
  const agentId = await publish(Array.from({ length: 5 }, (_, index) => `/${index}`));
  for (let call = 0; call < 6; call++) await endedCall(agentId);
  await deliver(2);
  expect(await api.context.models.deliveries.countDocuments({ state: 'delivered', attempts: 1 })).toBe(30);
  expect(receiver.received.length).toBe(30);
});

it('webhooks: a delivery that another process has taken in the meantime is left to that process', async () => {
  const id = await endedCall(await publish(['/a', '/b']));
  const { collection } = api.context.models.deliveries;
  const bulkWrite = collection.bulkWrite.bind(collection);
  vi.spyOn(collection, 'bulkWrite').mockImplementationOnce(async (...values) => {
    const taken = {
      lease: 'of another process',
      attempts: 1,
      next_at: new Date(api.clock.wallTime() + 20_000),
    };
    await api.context.models.deliveries.updateOne({ _id: `${id}:call.ended:0` }, { $set: taken });
    return bulkWrite(...values);
  });
  await deliver();
  expect(receiver.received.map(({ path }) => path)).toEqual(['/b']);
  expect(await states(id)).toEqual(['/a 2 pending', '/b 2 delivered']);
});

it('webhooks: nothing is sent about a session that is erased while a later event is relayed', async () => {
  const id = await endedCall(await publish(['/a']), { end_user_id: 'alice' });
  await deliver();
  const session = await withOutbox(id, [await eventAfter(id, 1)]);
  aroundInsert(async (insert) => {
    await erase('alice');
    return insert();
  });
  await relayOutbox(api.context, session);
  await deliver();
  expect(receiver.received.map(({ body }) => body.event)).toEqual(['call.ended']);
  expect(await states(id)).toEqual(['/a 3 dropped']);
});

it('webhooks: a first event is not sent again once its session is erased', async () => {
  receiver.answer = () => ({ status: 500 });
  await deliver();
  aroundInsert(async (insert) => {
    await erase('alice');
    return insert();
  });
  const id = await endedCall(await publish(['/a']), { end_user_id: 'alice' });
  await Promise.all(deliverers.map((deliverer) => deliverer.idle()));
  await api.clock.advance(1_000);
  await Promise.all(deliverers.map((deliverer) => deliverer.idle()));
  expect(receiver.received.length).toBe(1);
  expect(await states(id)).toEqual(['/a 2 dropped']);
});

it('webhooks: the end of a call is sent before its deliveries are stored', async () => {
  await deliver();
  aroundInsert(async (insert) => {
    await receiver.waitFor(2);
    return insert();
  });
  const id = await endedCall(await publish(['/a', '/b']));
  await Promise.all(deliverers.map((deliverer) => deliverer.idle()));
  expect(await states(id)).toEqual(['/a 2 delivered', '/b 2 delivered']);
  expect(receiver.received.length).toBe(2);
});

it('webhooks: an attempt ends with the answer, however long its delivery takes to be stored', async () => {
  receiver.answer = () => ({ status: 500 });
  await deliver();
  let answeredAt = new Date(0);
  aroundInsert(async (insert) => {
    await nextAnswer();
    answeredAt = new Date(api.clock.wallTime());
    await api.clock.advance(500);
    return insert();
  });
  await endedCall(await publish(['/a']));
  await Promise.all(deliverers.map((deliverer) => deliverer.idle()));
  const log = await api.context.models.deliveries.findOne().lean();
  expect(log?.last_attempt_at).toEqual(answeredAt);
});

it('webhooks: an answer that came before a shutdown counts, though its delivery is stored later', async () => {
  receiver.answer = () => ({ status: 500 });
  await deliver();
  let closed: Promise<unknown> = Promise.resolve();
  aroundInsert(async (insert) => {
    await nextAnswer();
    closed = Promise.all(deliverers.map((deliverer) => deliverer.close()));
    return insert();
  });
  await endedCall(await publish(['/a']));
  await closed;
  expect(await api.context.models.deliveries.findOne().lean()).toMatchObject({
    state: 'pending',
    attempts: 1,
    last_result: '500',
  });
});

it('webhooks: the outcome of the first event is stored before the outbox is emptied', async () => {
  await deliver();
  const { collection } = api.context.models.sessions;
  const updateOne = collection.updateOne.bind(collection);
  let outcomes: unknown[] = [];
  vi.spyOn(collection, 'updateOne').mockImplementation((async (...values: Parameters<typeof updateOne>) => {
    if ('$pull' in values[1]) {
      await Promise.all(deliverers.map((deliverer) => deliverer.idle()));
      outcomes = await api.context.models.deliveries.distinct('state');
    }
    return updateOne(...values);
  }) as never);
  await endedCall(await publish(['/a']));
  expect(outcomes).toEqual(['delivered']);
});

it('webhooks: an event whose delivery could not be stored is counted once', async () => {
  await deliver();
  const counted = vi.spyOn(api.context.metrics.webhooks, 'inc');
  aroundInsert(() => Promise.reject(new Error('connection lost')));
  const id = await endedCall(await publish(['/a']));
  await receiver.waitFor(1);
  await Promise.all(deliverers.map((deliverer) => deliverer.idle()));
  expect(counted).not.toHaveBeenCalled();
  const session = await api.context.models.sessions.findById(id).lean<SessionDocument>();
  if (session) await relayOutbox(api.context, session);
  await deliver();
  expect(counted).toHaveBeenCalledTimes(1);
});

it('webhooks: an event whose delivery could not be stored is sent again', async () => {
  await deliver();
  aroundInsert(() => Promise.reject(new Error('connection lost')));
  const id = await endedCall(await publish(['/a']));
  await receiver.waitFor(1);
  const session = await api.context.models.sessions.findById(id).lean<SessionDocument>();
  if (session) await relayOutbox(api.context, session);
  await deliver();
  expect(receiver.received.length).toBe(2);
  expect(await states(id)).toEqual(['/a 2 delivered']);
});

it('webhooks: an event found in the store is sent by one of two processes, and once', async () => {
  const id = await endedCall(await publish(['/a']));
  const { payload, created_at: at } = (await api.context.models.deliveries.findOne().lean()) ?? {};
  await api.context.models.deliveries.deleteMany({});
  if (!payload || !at) throw new Error('no delivery');
  const session = await withOutbox(id, [
    { id: `${id}:call.ended`, event: 'call.ended', rank: 2, at, payload },
  ]);
  await deliver(2);
  await Promise.all([relayOutbox(api.context, session), relayOutbox(api.context, session)]);
  await deliver();
  expect(receiver.received.length).toBe(1);
  expect(await states(id)).toEqual(['/a 2 delivered']);
});

it('webhooks: an event that was stored although its insert failed is sent at once, and once', async () => {
  await deliver();
  aroundInsert(async (insert) => {
    await insert();
    throw new Error('connection lost');
  });
  const id = await endedCall(await publish(['/a']));
  await receiver.waitFor(1);
  const session = await api.context.models.sessions.findById(id).lean<SessionDocument>();
  expect(session?.outbox.length).toBe(1);
  if (session) await relayOutbox(api.context, session);
  await deliver();
  expect(receiver.received.length).toBe(1);
  expect(await states(id)).toEqual(['/a 2 delivered']);
});

it('webhooks: an event relayed during a shutdown is given back before the shutdown ends', async () => {
  await deliver();
  const order: string[] = [];
  let closed: Promise<unknown> = Promise.resolve();
  aroundInsert(async (insert) => {
    closed = Promise.all(deliverers.map((deliverer) => deliverer.close())).then(() => order.push('closed'));
    const inserted = await insert();
    await api.context.models.deliveries.countDocuments();
    order.push('inserted');
    return inserted;
  });
  await endedCall(await publish(['/a']));
  await closed;
  expect(order).toEqual(['inserted', 'closed']);
  expect(receiver.received).toEqual([]);
  expect(await api.context.models.deliveries.findOne().lean()).toMatchObject({
    state: 'pending',
    attempts: 0,
    lease: null,
  });
});

it('webhooks: an event leased by a process that died is sent once by another, after the lease', async () => {
  const lease = {
    lease: 'of a process that died',
    attempts: 1,
    next_at: new Date(api.clock.wallTime() + 20_000),
  };
  const { firstAttempts } = api.context;
  const die = firstAttempts.serve(() => ({ lease, begin: () => undefined, release: () => undefined }));
  const id = await endedCall(await publish(['/a']));
  die();
  await deliver(2);
  await api.clock.advance(19_000);
  await Promise.all(deliverers.map((deliverer) => deliverer.idle()));
  expect(receiver.received).toEqual([]);
  await api.clock.advance(1_000);
  await receiver.waitFor(1);
  await Promise.all(deliverers.map((deliverer) => deliverer.idle()));
  await api.clock.advance(21_000);
  await Promise.all(deliverers.map((deliverer) => deliverer.idle()));
  expect(receiver.received.length).toBe(1);
  expect(await states(id)).toEqual(['/a 2 delivered']);
});

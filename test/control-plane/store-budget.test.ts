import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { LATENCY, message } from './calls/settlement/test-sessions.ts';
import type { TestUser } from './test-api.ts';
import { openTestCalls, type TestCalls } from './test-calls.ts';
import { insertNumber } from './test-numbers.ts';
import { openWatchedStore, type WatchedStore } from './watched-store.ts';

const NUMBER = '+15550100001';
/** A piece of a flight log, which is signed with the words that it comes with. */
const STRETCH = { of: 'log', piece: 0, bytes: 5_000, sha256: 'A'.repeat(43) } as const;

let store: WatchedStore;
let api: TestCalls;
let receiver: WebhookReceiver;
let deliverer: BackgroundLoop;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  store = await openWatchedStore();
  api = await openTestCalls({ SIP_TRUSTED: '127.0.0.0/8' }, {}, store);
  receiver = await openWebhookReceiver();
  user = await api.createUser({ credit: '100.00' });
  agentId = await api.publishAgent(user, { webhooks: { post_call: [{ url: `${receiver.url}/` }] } });
  await insertNumber(api, user, { phone_number: NUMBER, agent_id: agentId });
  deliverer = startDeliverer(api.context);
});
afterAll(async () => {
  await deliverer.close();
  await receiver.close();
  await api.close();
});

/** Sends a request that must succeed. */
async function ask(path: string, body: unknown): Promise<void> {
  const { status, text } = await api.request('POST', path, { key: user.key, body });
  if (status >= 300) throw new Error(`${path}: ${text}`);
}

/** An inbound call whose last reports come after its webhook. */
async function phoneCall(): Promise<void> {
  const { answer, planned } = await admitCall(api.context, {
    call_id: 'call@host',
    from_user: '+8190123456',
    to_user: NUMBER,
    source_address: '127.0.0.1',
    source_port: 5060,
    transport: 'udp',
    headers: {},
  });
  if (answer.action !== 'route') throw new Error('the call was refused');
  await planned;
  const sessionId = api.dispatch.offers.at(-1)?.sessionId ?? '';
  let seq = 0;
  /** Reports that the worker's connection passes on together. */
  const reported = (...reports: DurableReport[]) =>
    api.sink.apply(
      reports.map((report) => ({ session_id: sessionId, epoch: 1, seq: ++seq, report })),
      'worker-1',
    );
  const webhooks = receiver.received.length;
  await reported({ type: 'joined', at: api.at() });
  await reported(
    { type: 'items', items: [message('Are you open?', api.at())] },
    { type: 'turn', latency: LATENCY as never },
  );
  await reported(
    { type: 'items', items: [message('Yes.', api.at(), 'assistant')], stretches: [STRETCH] },
    { type: 'ended', at: api.at(1_000), end_reason: 'user_hangup' },
  );
  await receiver.waitFor(webhooks + 1);
  await deliverer.idle();
  await reported({ type: 'recording', tracks: [] });
  await reported({ type: 'turn', latency: LATENCY as never });
}

/** The store commands of the second run, sorted; the first fills the caches. */
async function commandsOf(work: () => Promise<void>): Promise<string[]> {
  await work();
  return (await store.commandsOf(work)).sort();
}

describe('the store commands', () => {
  it('of a new session are the place, the session, its charge, its worker and its plan', async () => {
    expect(await commandsOf(() => ask('/v1/agent/sessions', { agent_id: agentId }))).toEqual([
      'insert session_attachments',
      'insert sessions',
      'insert wallet_ledger',
      'update places',
      'update sessions',
    ]);
  });

  it('of a session that ends unjoined find it, end it, refund it and note its worker’s report', async () => {
    const endOf = async () => {
      const { body } = await api.request('POST', '/v1/agent/sessions', {
        key: user.key,
        body: { agent_id: agentId },
      });
      const { session_id: sessionId } = body;
      return store.commandsOf(async () => {
        await ask(`/v1/agent/sessions/${sessionId}/end`, {});
        const ended = { type: 'ended', at: api.at(), end_reason: 'cancelled' } as const;
        await api.sink.apply([{ session_id: sessionId, epoch: 1, seq: 1, report: ended }], 'worker-1');
      });
    };
    await endOf();
    expect(await endOf()).toEqual([
      'find sessions',
      'findAndModify sessions',
      'insert wallet_ledger',
      'findAndModify sessions',
      'update sessions',
    ]);
  });

  it('of a speech request are its wallet and its charge', async () => {
    expect(await commandsOf(() => ask('/v1/tts', { text: 'Hello.', format: 'wav' }))).toEqual([
      'find wallet_ledger',
      'insert wallet_ledger',
    ]);
  });

  it('of a phone call admit it, store its reports, settle it and deliver its webhook', async () => {
    // The session, its charge, its worker, its plan.
    const admitted = [
      'insert sessions',
      'insert wallet_ledger',
      'update sessions',
      'insert session_attachments',
    ];
    // Each report is a single update.
    const reported = ['findAndModify sessions', 'update sessions', 'findAndModify sessions'];
    // The first report after the end reads the session.
    const late = ['find sessions', 'update sessions', 'update sessions'];
    const settled = ['insert wallet_ledger', 'findAndModify sessions'];
    // Stored with its lease, removed from the outbox, delivered; is another event queued behind it.
    const delivered = [
      'insert webhook_deliveries',
      'update sessions',
      'update webhook_deliveries',
      'findAndModify webhook_deliveries',
    ];
    expect(await commandsOf(phoneCall)).toEqual(
      [...admitted, ...reported, ...settled, ...delivered, ...late].sort(),
    );
  });
});

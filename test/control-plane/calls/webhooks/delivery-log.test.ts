import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import { openWebhookReceiver, type WebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let receiver: WebhookReceiver;
let deliverer: BackgroundLoop;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser();
  receiver = await openWebhookReceiver();
  deliverer = startDeliverer(api.context);
});
afterAll(async () => {
  await deliverer.close();
  await receiver.close();
  await api.close();
});

async function endedCall(urls: readonly string[]): Promise<string> {
  const agent_id = await api.publishAgent(user, {
    webhooks: { post_call: urls.map((url) => ({ url, secret: 'planted-signing-key' })) },
  });
  const { body } = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id, metadata: { order: 'planted-payload' } },
  });
  await api.report(body.session_id, { type: 'joined', at: api.at() });
  await api.clock.advance(5_000);
  await api.report(body.session_id, { type: 'ended', at: api.at(), end_reason: 'agent_hangup' });
  await deliverer.idle();
  return body.session_id;
}

const log = (id: string, query = '', key = user.key) =>
  api.request('GET', `/v1/agent/sessions/${id}/deliveries${query}`, { key });

describe('the delivery log of a session', () => {
  it('shows the answer, attempts and next retry per endpoint', async () => {
    receiver.answer = ({ path }) => ({ status: path === '/good' ? 204 : 500 });
    const id = await endedCall([`${receiver.url}/good`, `${receiver.url}/bad`]);
    const { status, body } = await log(id);
    expect(status).toBe(200);
    const of = (path: string) => body.deliveries.find((row: { url: string }) => row.url.endsWith(path));
    expect(of('/good')).toEqual({
      delivery_id: `${id}:call.ended:0`,
      session_id: id,
      event: 'call.ended',
      url: `${receiver.url}/good`,
      state: 'delivered',
      attempts: 1,
      last_status: 204,
      last_error: null,
      created_at: api.at(),
      last_attempt_at: api.at(),
      next_at: null,
      finished_at: api.at(),
    });
    expect(of('/bad')).toMatchObject({
      state: 'pending',
      attempts: 1,
      last_status: 500,
      next_at: api.at(1_000),
      finished_at: null,
    });
  });

  it('shows the cause when no answer arrived, and the drop after the third attempt', async () => {
    const id = await endedCall(['http://127.0.0.1:65533/hook']);
    for (const ms of [1_000, 5_000]) {
      await api.clock.advance(ms);
      await deliverer.idle();
    }
    const [row] = (await log(id)).body.deliveries;
    expect(row).toMatchObject({
      state: 'dropped',
      attempts: 3,
      last_status: null,
      next_at: null,
      finished_at: api.at(),
    });
    expect(row.last_error).toMatch(/ECONNREFUSED/);
  });

  it('never shows a payload or a signing secret', async () => {
    const id = await endedCall([`${receiver.url}/good`]);
    const { text } = await log(id);
    expect(text).not.toContain('planted');
    expect(Object.keys((await log(id)).body.deliveries[0])).not.toContain('payload');
  });

  it('is visible to its team only: another team’s session is treated as missing', async () => {
    const id = await endedCall([`${receiver.url}/good`]);
    const otherUser = await api.createUser();
    const [foreign, missing] = [await log(id, '', otherUser.key), await log('f'.repeat(32))];
    expect(foreign.status).toBe(404);
    expect(foreign.body).toEqual(missing.body);
    expect((await log(id)).body.deliveries).toHaveLength(1);
  });

  it('pages by cursor and by number', async () => {
    const id = await endedCall([`${receiver.url}/a`, `${receiver.url}/b`, `${receiver.url}/c`]);
    const first = (await log(id, '?page_size=2')).body;
    const second = (await log(id, `?page_size=2&cursor=${first.next_cursor}`)).body;
    const numbered = (await log(id, '?page_size=2&page=2')).body;
    expect([first.deliveries.length, first.has_more, second.deliveries.length, second.has_more]).toEqual([
      2,
      true,
      1,
      false,
    ]);
    expect(numbered).toMatchObject({ deliveries: second.deliveries, total: 3 });
  });
});

describe('resending a webhook', () => {
  const resend = (session: string, delivery: string, key = user.key) =>
    api.request('POST', `/v1/agent/sessions/${session}/deliveries/${delivery}/resend`, { key });

  it('sends the same bytes again with a new signature, and restarts its attempts', async () => {
    receiver.answer = () => ({ status: 204 });
    const id = await endedCall([`${receiver.url}/again`]);
    await api.clock.advance(60_000);
    const { status, body } = await resend(id, `${id}:call.ended:0`);
    expect([status, body.state, body.attempts]).toEqual([202, 'pending', 0]);
    await deliverer.idle();
    const [first, second] = receiver.received.filter(({ path }) => path === '/again');
    expect(second?.raw).toEqual(first?.raw);
    expect(second?.headers['x-service-webhook-signature']).not.toBe(
      first?.headers['x-service-webhook-signature'],
    );
    expect((await log(id)).body.deliveries[0]).toMatchObject({
      state: 'delivered',
      attempts: 1,
      finished_at: api.at(),
    });
  });

  it('is rejected for pending, missing and other teams’ deliveries', async () => {
    receiver.answer = () => ({ status: 500 });
    const id = await endedCall([`${receiver.url}/busy`]);
    expect((await resend(id, `${id}:call.ended:0`)).status).toBe(409);
    expect((await resend(id, 'nothing')).status).toBe(404);
    expect((await resend(id, `${id}:call.ended:0`, (await api.createUser()).key)).status).toBe(404);
  });
});

describe('the delivery log of a team', () => {
  it('lists the webhooks of all its sessions, by state, and of no other team', async () => {
    receiver.answer = () => ({ status: 204 });
    const id = await endedCall([`${receiver.url}/team`]);
    const all = (query = '', key = user.key) => api.request('GET', `/v1/agent/deliveries${query}`, { key });
    const sessions = (await all('?state=delivered')).body.deliveries.map(
      (row: { session_id: string }) => row.session_id,
    );
    expect(sessions).toContain(id);
    expect((await all('?state=queued')).body.deliveries).toEqual([]);
    expect((await all('', (await api.createUser()).key)).body.deliveries).toEqual([]);
    expect((await all('?state=lost')).status).toBe(422);
  });
});

import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { inboundCallEvent, webhookEvent } from '#protocol/webhook-events.ts';
import {
  openWebhookReceiver,
  type WebhookAnswer,
  type WebhookReceiver,
} from '#test/fakes/webhook-receiver.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

let api: TestApi;
let user: TestUser;
let receiver: WebhookReceiver;
let agentId: string;
let url: string;

beforeAll(async () => {
  receiver = await openWebhookReceiver();
  url = `${receiver.url}/parley`;
  api = await openTestApi({ EGRESS_ALLOW: new URL(url).host, LIMIT_TOOL_TESTS: '2' });
  user = await api.createUser();
  const { body } = await api.request('POST', '/v1/agent/agents', {
    key: user.key,
    body: {
      name: 'Front desk',
      config: {
        webhooks: {
          post_call: [{ url, secret: 'stored' }],
          conversation_init: { url, secret: 'stored for init', timeout_seconds: 3 },
        },
      },
    },
  });
  agentId = body.agent_id;
});
beforeEach(() => {
  receiver.received.length = 0;
  receiver.answer = () => ({ status: 202, body: 'noted' });
});
afterAll(async () => {
  await receiver.close();
  await api.close();
});

const send = (body: object, key = user.key) =>
  api.request('POST', `/v1/agent/agents/${agentId}/webhooks/test`, { key, body });

/** The secret that the last request was signed with; null without a signature. */
function signedWith(secrets: readonly string[]): string | null {
  const request = receiver.received.at(-1);
  const signature = String(request?.headers['x-service-webhook-signature']);
  const [, t, v1] = /^t=(\d+),v1=(\w+)$/.exec(signature) ?? [];
  const hmac = (secret: string) =>
    createHmac('sha256', secret)
      .update(`${t}.`)
      .update(request?.raw ?? '')
      .digest('hex');
  return secrets.find((secret) => hmac(secret) === v1) ?? null;
}

describe('a test event', () => {
  it('is a call.ended of an invented call, and the answer is returned with its time', async () => {
    const held = Promise.withResolvers<WebhookAnswer>();
    receiver.answer = () => held.promise;
    const sent = send({ url });
    await receiver.waitFor(1);
    await api.clock.advance(750);
    held.resolve({ status: 202, body: 'noted' });
    const { status, body } = await sent;
    expect(status).toBe(200);
    expect(body).toMatchObject({ status_code: 202, body: 'noted', error: null, response_truncated: false });
    expect(body.latency_ms).toBe(750);
    const [request] = receiver.received;
    expect(webhookEvent.parse(request?.body)).toEqual(request?.body);
    expect(request?.body).toMatchObject({
      event: 'call.ended',
      session: { agent_id: agentId, agent_name: 'Front desk', metadata: { test: true } },
    });
  });

  it('is a call.inbound for an endpoint that is asked before a call', async () => {
    expect((await send({ url, event: 'call.inbound' })).status).toBe(200);
    const [request] = receiver.received;
    expect(inboundCallEvent.parse(request?.body)).toEqual(request?.body);
  });

  it.each([
    ['3 s of the draft', '/parley', 3_000],
    ['8 s for an address that is not in the draft', '/other', 8_000],
  ])('waits for the answer to a call.inbound for the %s', async (_, path, timeoutMs) => {
    receiver.answer = () => 'hang';
    const sent = send({ url: `${receiver.url}${path}`, event: 'call.inbound' });
    await receiver.waitFor(1);
    await api.clock.advance(timeoutMs);
    expect((await sent).body).toMatchObject({
      status_code: null,
      error: `No complete answer within ${timeoutMs} ms`,
      latency_ms: timeoutMs,
    });
  });

  it('is signed with the given secret, or else with the one stored for the address and event', async () => {
    const secrets = ['given', 'stored', 'stored for init'];
    const signed: (string | null)[] = [];
    for (const body of [
      { url, secret: 'given' },
      { url },
      { url, event: 'call.inbound' },
      { url, secret: '' },
      { url: `${url}/other` },
    ]) {
      await send(body);
      signed.push(signedWith(secrets));
    }
    expect(signed).toEqual(['given', 'stored', 'stored for init', null, null]);
  });

  it('has a new session id each time, so that a receiver does not take it for a duplicate', async () => {
    await send({ url });
    await send({ url });
    expect(new Set(receiver.received.map(({ body }) => body.session.id)).size).toBe(2);
  });

  it.each([
    ['http://10.0.0.1/', 'The host is not a public address'],
    ['https://private.example.com/', 'The host is not a public address'],
    ['ftp://example.com/', 'The URL must be http or https'],
  ])('is not sent to %s', async (address, error) => {
    expect((await send({ url: address })).body).toMatchObject({ status_code: null, error, body: '' });
  });

  it('reports a redirect without following it, and the first 64 KiB of a longer answer', async () => {
    receiver.answer = () => ({ status: 302, headers: { location: `${url}/elsewhere` } });
    expect((await send({ url })).body.status_code).toBe(302);
    receiver.answer = () => ({ status: 500, body: 'x'.repeat(70_000) });
    const { body } = await send({ url });
    expect([body.status_code, body.body.length, body.response_truncated]).toEqual([500, 65_536, true]);
    expect(receiver.received).toHaveLength(2);
  });

  it('leaves no delivery, session or entry in the audit log', async () => {
    const { key } = user;
    const before = (await api.request('GET', '/v1/agent/audit-log', { key })).body;
    await send({ url });
    expect((await api.request('GET', '/v1/agent/deliveries', { key })).body.deliveries).toEqual([]);
    expect((await api.request('GET', '/v1/agent/sessions', { key })).body.sessions).toEqual([]);
    expect((await api.request('GET', '/v1/agent/audit-log', { key })).body).toEqual(before);
  });

  it('needs an agent of the team and known fields', async () => {
    const other = await api.createUser();
    expect((await send({ url }, other.key)).status).toBe(404);
    for (const body of [{}, { url: '' }, { url, event: 'call.analyzed' }, { url, more: 1 }])
      expect((await send(body)).status).toBe(422);
    expect(receiver.received).toEqual([]);
  });

  it('shares the places of tool tests', async () => {
    receiver.answer = () => 'hang';
    const held = [send({ url }), send({ url })];
    await receiver.waitFor(2);
    const refused = await send({ url });
    expect([refused.status, refused.body.reason]).toEqual([429, 'too_many_at_once']);
    await api.clock.advance(10_000);
    for (const { body } of await Promise.all(held))
      expect(body).toMatchObject({ status_code: null, error: 'No complete answer within 10000 ms' });
  });
});

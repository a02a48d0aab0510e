import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { answer, openTextSessions, type TextSessions } from './open-text-sessions.ts';

const DAY_MS = 24 * 60 * 60_000;

let api: TextSessions;
let receiver: WebhookReceiver;
beforeEach(async () => {
  api = await openTextSessions();
  receiver = await openWebhookReceiver();
});
afterEach(async () => {
  await receiver.close();
  await api.close();
});

/** A session with one answered message, ended by the client. */
async function ended(config: Record<string, unknown> = {}): Promise<string> {
  const agentId = await api.publishAgent(api.user, config);
  const id = await api.create({ end_user_id: 'u-1', metadata: { ticket: 7 } }, agentId);
  const sent = api.send(id, 'My boiler is cold');
  await api.placed(1);
  await api.finish(answer('I will send somebody'));
  await sent;
  await api.request('POST', `/v1/agent/text-sessions/${id}/end`, { key: api.user.key });
  await api.loop.idle();
  return id;
}

async function analysed(id: string): Promise<void> {
  const { key, job } = api.dispatch.analyses.at(-1) ?? { key: { sessionId: '', epoch: 0 }, job: null };
  const result = {
    status: 'completed' as const,
    summary: 'A cold boiler.',
    data: [],
    criteria_results: [],
    error: null,
  };
  const report = { type: 'analysis' as const, job_id: job?.job_id ?? '', result };
  await api.sink.apply([{ session_id: id, epoch: key.epoch, seq: 1, report }], 'worker-1');
}

describe('the end of a text session', () => {
  it('has it analysed like a call', async () => {
    const id = await ended();
    expect(api.dispatch.analyses).toMatchObject([
      {
        key: { sessionId: id, epoch: 1 },
        job: { items: [{ content: 'My boiler is cold' }, { content: 'I will send somebody' }] },
      },
    ]);
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).analysis.status).toBe('running');
    await analysed(id);
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).analysis).toMatchObject({
      status: 'completed',
      summary: 'A cold boiler.',
    });
  });

  it('without a word of the person has nothing to analyse', async () => {
    const id = await api.create();
    await api.request('POST', `/v1/agent/text-sessions/${id}/end`, { key: api.user.key });
    await api.loop.idle();
    expect(api.dispatch.analyses).toEqual([]);
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).analysis.status).toBe('skipped');
  });

  it('places the analysis again when its worker is lost', async () => {
    await ended();
    await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()));
    await api.loop.idle();
    expect(api.dispatch.analyses).toHaveLength(2);
  });

  it('is told to the endpoints that ask for it, once and in order, and to no other', async () => {
    const deliverer = startDeliverer(api.context);
    const url = `${receiver.url}/asks`;
    const id = await ended({
      webhooks: {
        post_call: [
          { url, extra_events: ['text_session.ended', 'text_session.analyzed'] },
          { url: `${receiver.url}/does-not` },
        ],
      },
    });
    await receiver.waitFor(1);
    await analysed(id);
    await deliverer.idle();
    const received = await receiver.waitFor(2);
    await api.clock.advance(10_000);
    await deliverer.idle();
    expect(received.map(({ path, body }) => [path, body.event])).toEqual([
      ['/asks', 'text_session.ended'],
      ['/asks', 'text_session.analyzed'],
    ]);
    expect(received[0]?.body.text_session).toMatchObject({
      id,
      status: 'ended',
      end_reason: 'client',
      end_user_id: 'u-1',
      metadata: { ticket: 7 },
      message_count: 1,
    });
    expect(received[1]?.body.analysis).toMatchObject({ status: 'completed', summary: 'A cold boiler.' });
    expect(receiver.received).toHaveLength(2);
    await deliverer.close();
  });

  it('an agent whose endpoints ask for nothing reads and hashes as before', async () => {
    const agentId = await api.publishAgent(api.user, {
      webhooks: { post_call: [{ url: `${receiver.url}/x` }] },
    });
    const { webhooks } = await api.get(`/v1/agent/agents/${agentId}/config`);
    expect(webhooks.post_call).toEqual([{ url: `${receiver.url}/x`, has_secret: false }]);
  });
});

describe('the privacy of a text session', () => {
  it('an erasure of its person leaves nothing that can be read', async () => {
    const id = await ended();
    const erased = await api.request('POST', '/v1/agent/erasures', {
      key: api.user.key,
      body: { end_user_id: 'u-1' },
    });
    expect(erased.body).toMatchObject({ sessions: 0, text_sessions: 1, attachments: 1 });
    expect(await api.get(`/v1/agent/text-sessions/${id}`)).toMatchObject({
      end_user_id: null,
      metadata: {},
      items: [],
    });
    expect(await api.context.models.textTurns.findOne({}).lean()).toMatchObject({
      message: null,
      items: null,
      reply: null,
    });
  });

  it('its contents are deleted with the transcripts of calls', async () => {
    const id = await ended();
    await api.request('PATCH', '/v1/agent/privacy', {
      key: api.user.key,
      body: { transcripts_days: 30 },
    });
    await enforceRetention(api.context, 'test');
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).items).toHaveLength(2);
    await api.loop.close();
    await api.clock.advance(31 * DAY_MS);
    await enforceRetention(api.context, 'test');
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).items).toEqual([]);
  });
});

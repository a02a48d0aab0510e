import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import { openWebhookReceiver } from '../../../fakes/webhook-receiver.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;

beforeAll(async () => {
  api = await openTestCalls();
});
afterAll(() => api.close());

it('metrics count calls, webhooks, wallet entries and wallets that ran low', async () => {
  const receiver = await openWebhookReceiver();
  const deliverer = startDeliverer(api.context);
  const user = await api.createUser({ credit: '1.05' });
  const agent_id = await api.publishAgent(user, { webhooks: { post_call: [{ url: `${receiver.url}/a` }] } });
  for (let calls = 0; calls < 2; calls++) {
    const { session_id } = (
      await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } })
    ).body;
    await api.report(session_id, { type: 'joined', at: api.at() });
    const ended = { type: 'ended', at: api.at(60_000), end_reason: 'agent_hangup' } as const;
    await api.report(session_id, ended);
    await api.report(session_id, ended);
  }
  await deliverer.idle();
  await deliverer.close();
  await receiver.close();
  const { text } = await api.request('GET', '/metrics');
  for (const line of [
    'parley_calls_created_total{channel="web_voice"} 2',
    'parley_calls_ended_total{reason="agent_hangup"} 2',
    'parley_webhooks_total{outcome="delivered"} 2',
    'parley_wallet_postings_total{kind="hold"} 2',
    'parley_wallet_low_credit_total 1',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
});

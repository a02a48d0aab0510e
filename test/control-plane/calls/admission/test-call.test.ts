import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import { seedDemo } from '#control-plane/operations/seed.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let root: TestUser;
beforeEach(async () => {
  api = await openTestCalls();
  await seedDemo(api.context);
  const { body } = await api.request('GET', '/v1/account', { key: api.rootKey });
  root = { userId: body.user_id, key: api.rootKey } as TestUser;
});
afterEach(() => api.close());

const permit = (query = '', key = root.key) => api.request('GET', `/admin/test-call${query}`, { key });

async function ring(
  to: string,
  headers: Record<string, string> = {},
  source = '127.0.0.1',
): Promise<string | number> {
  const { answer, planned } = await admitCall(api.context, {
    call_id: `call-${Math.random()}@host`,
    from_user: '+15551230000',
    to_user: to,
    source_address: source,
    source_port: 5062,
    transport: 'udp',
    headers,
  });
  await planned;
  return answer.action === 'reject' ? answer.data.status : answer.data.tag;
}

describe('a test call of the doctor', () => {
  it('reaches the demo agent without a charge, a listed session, a recording or a webhook', async () => {
    const { body } = await permit();
    expect(body.sip).toEqual({ host: '127.0.0.1', port: expect.any(Number) });
    const { phone_number, agent_id, session_id, header } = body.call;
    const before = await api.balance(root.userId);
    expect(await ring(phone_number, { [header.name.toLowerCase()]: header.value })).toBe('tag-1');
    expect(api.dispatch.plans.at(-1)?.plan).toMatchObject({
      session_id,
      is_preview: true,
      record_audio: false,
    });
    await api.report(session_id, { type: 'joined', at: api.at() });
    await api.report(session_id, { type: 'ended', at: api.at(61_000), end_reason: 'user_hangup' });
    expect(await api.balance(root.userId)).toBe(before);
    const listed = await api.request('GET', '/v1/agent/sessions?status=completed,pending,active', {
      key: root.key,
    });
    expect(listed.body.sessions).toEqual([]);
    expect(await api.context.models.deliveries.countDocuments()).toBe(0);
    const read = await api.request('GET', `/v1/agent/agents/${agent_id}/preview-sessions/${session_id}`, {
      key: root.key,
    });
    expect(read.body).toMatchObject({ status: 'completed', source: 'phone', dialed_number: phone_number });
    expect(read.body.sip_headers).toEqual({});
  });

  it('leaves no refusal and no warning when it is refused, unlike any other call', async () => {
    const warn = vi.spyOn(api.context.logger, 'warn');
    const { phone_number, header } = (await permit()).body.call;
    const proof = { [header.name.toLowerCase()]: header.value };
    expect(await ring(phone_number, proof, '198.51.100.1')).toBe(403);
    api.dispatch.room = 0;
    expect(await ring(phone_number, proof)).toBe(503);
    expect(await ring(phone_number, {}, '198.51.100.2')).toBe(403);
    const refused = () => api.context.models.refusals.find().lean();
    await vi.waitFor(async () => expect(await refused()).not.toEqual([]), { timeout: 10_000 });
    expect(await refused()).toMatchObject([{ message: expect.stringContaining('198.51.100.2') }]);
    expect(warn.mock.calls).toMatchObject([[{ address: '198.51.100.2' }, expect.anything()]]);
    warn.mockRestore();
  });

  it('needs an unused proof for this number that has not expired; without one it is refused', async () => {
    const { call } = (await permit()).body;
    const name = call.header.name.toLowerCase();
    const other = { provider: 'managed', phone_number: '+15550100009', agent_id: call.agent_id };
    await api.request('POST', '/v1/agent/phone-numbers', { key: root.key, body: other });
    const before = await api.balance(root.userId);
    expect(await ring(call.phone_number, { [name]: 'made up' })).toBe(404);
    expect(await ring(other.phone_number, { [name]: call.header.value })).toBe(404);
    expect(await ring(call.phone_number, { [name]: call.header.value })).toBe('tag-1');
    expect(await ring(call.phone_number, { [name]: call.header.value })).toBe(404);
    const late = (await permit()).body.call;
    await api.clock.advance(2 * 60_000 + 1);
    expect(await ring(late.phone_number, { [name]: late.header.value })).toBe(404);
    expect(await api.balance(root.userId)).toBe(before);
  });

  it('is available to the operator only, for a number of their team that an agent answers', async () => {
    const tenant = await api.createUser();
    expect((await permit('', tenant.key)).status).toBe(403);
    const body = {
      provider: 'managed',
      phone_number: '+15550100008',
      agent_id: await api.publishAgent(tenant),
    };
    await api.request('POST', '/v1/agent/phone-numbers', { key: tenant.key, body });
    expect((await permit('?phone_number=%2B15550100008')).status).toBe(404);
    await api.context.models.numbers.updateOne({ phone_number: '+15550100000' }, { agent_id: null });
    expect((await permit()).body).toMatchObject({ call: null, sip: { host: '127.0.0.1' } });
  });
});

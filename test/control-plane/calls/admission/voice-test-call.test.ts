import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
beforeAll(async () => {
  api = await openTestCalls();
});
beforeEach(async () => {
  api.dispatch.reset();
  user = await api.createUser();
});
afterAll(() => api.close());

const permit = (agentId: string, body?: Record<string, unknown>, key = user.key) =>
  api.request('POST', `/v1/agent/agents/${agentId}/test-calls`, { key, ...(body ? { body } : {}) });

/** Rings from an address that no number trusts. */
async function ring(
  { name, value }: { name: string; value: string },
  dialled = 'test',
): Promise<string | number> {
  const { answer, planned } = await admitCall(api.context, {
    call_id: `call-${Math.random()}@host`,
    from_user: '+15551230000',
    to_user: dialled,
    source_address: '198.51.100.7',
    source_port: 5062,
    transport: 'udp',
    headers: { [name.toLowerCase()]: value },
  });
  await planned;
  return answer.action === 'reject' ? answer.data.status : answer.data.tag;
}

const draft = (agentId: string, config: Record<string, unknown>) =>
  api.request('PATCH', `/v1/agent/agents/${agentId}/config`, { key: user.key, body: config });
const promptOf = () => api.dispatch.plans.at(-1)?.plan.config.prompt.system_prompt;

describe('the call of a voice test', () => {
  it('reaches the draft of an agent that has no number, as a preview: free, unlisted, unrecorded', async () => {
    const { body: agent } = await api.request('POST', '/v1/agent/agents', {
      key: user.key,
      body: { name: 'New', config: { prompt: { system_prompt: 'A draft' } } },
    });
    const { status, body } = await permit(agent.agent_id);
    expect(status).toBe(201);
    expect(body).toMatchObject({ sip: { host: '127.0.0.1' }, config_hash: expect.any(String) });
    const before = await api.balance(user.userId);
    expect(await ring(body.header)).toBe('tag-1');
    expect(api.dispatch.plans.at(-1)?.plan).toMatchObject({
      session_id: body.session_id,
      is_preview: true,
      record_audio: false,
      config: { prompt: { system_prompt: 'A draft' } },
    });
    await api.report(body.session_id, { type: 'joined', at: api.at() });
    await api.report(body.session_id, { type: 'ended', at: api.at(61_000), end_reason: 'user_hangup' });
    expect(await api.balance(user.userId)).toBe(before);
    const listed = await api.request('GET', '/v1/agent/sessions', { key: user.key });
    expect(listed.body.sessions).toEqual([]);
    const path = `/v1/agent/agents/${agent.agent_id}/preview-sessions/${body.session_id}`;
    expect((await api.request('GET', path, { key: user.key })).body).toMatchObject({
      status: 'completed',
      dialed_number: null,
    });
  });

  it('reaches the version that it asks for', async () => {
    const agentId = await api.publishAgent(user, { prompt: { system_prompt: 'First' } });
    await draft(agentId, { prompt: { system_prompt: 'Second' } });
    await api.request('POST', `/v1/agent/agents/${agentId}/publish`, { key: user.key });
    await draft(agentId, { prompt: { system_prompt: 'Third' } });
    for (const [version, prompt] of [
      [1, 'First'],
      ['published', 'Second'],
      ['draft', 'Third'],
    ]) {
      await ring((await permit(agentId, { version })).body.header);
      expect(promptOf()).toBe(prompt);
    }
    expect((await permit(agentId, { version: 3 })).body).toMatchObject({ reason: 'tested_version_unknown' });
  });

  it('cannot be transferred to a person', async () => {
    const agentId = await api.publishAgent(user, {
      conversation: { transfer_destinations: [{ label: 'Kitchen', phone_number: '+14155550123' }] },
    });
    await ring((await permit(agentId)).body.header);
    expect(api.dispatch.plans.at(-1)?.plan.transfer).toBe(null);
  });

  it('is permitted once, for two minutes, and to keys of the agent’s team', async () => {
    const agentId = await api.publishAgent(user);
    const stranger = await api.createUser();
    expect((await permit(agentId, undefined, stranger.key)).status).toBe(404);
    const { header } = (await permit(agentId)).body;
    expect(await ring(header)).toBe('tag-1');
    expect(await ring(header)).toBe(404);
    const late = (await permit(agentId)).body.header;
    await api.clock.advance(2 * 60_000 + 1);
    expect(await ring(late)).toBe(404);
    expect(await ring({ ...header, value: 'made up' })).toBe(404);
  });

  it('is one of many that ring at once with the same header, which no session keeps', async () => {
    const { header, session_id } = (await permit(await api.publishAgent(user))).body;
    const answers = await Promise.all(Array.from({ length: 5 }, () => ring(header)));
    expect(answers.toSorted()).toEqual([404, 404, 404, 404, 'tag-1']);
    const session = await api.context.models.sessions.findOne({ _id: session_id }).lean();
    expect(JSON.stringify(session)).not.toContain(header.value);
    const path = `/v1/agent/agents/${session?.agent_id}/preview-sessions/${session_id}`;
    expect((await api.request('GET', path, { key: user.key })).body.sip_headers).toEqual({});
  });

  it('is of the agent that the header was made for, whichever number it dials', async () => {
    const { header, session_id } = (await permit(await api.publishAgent(user))).body;
    const other = await api.createUser();
    const number = '+15550107007';
    await api.request('POST', '/v1/agent/phone-numbers', {
      key: other.key,
      body: { provider: 'managed', phone_number: number, agent_id: await api.publishAgent(other) },
    });
    await ring(header, number);
    expect(api.dispatch.plans.at(-1)?.plan).toMatchObject({ session_id, is_preview: true });
    expect(await ring({ ...header, value: '' }, number)).toBe(403);
  });

  it('is refused by an archived agent', async () => {
    const agentId = await api.publishAgent(user);
    const { header } = (await permit(agentId)).body;
    const body = { status: 'archived' };
    await api.request('PATCH', `/v1/agent/agents/${agentId}`, { key: user.key, body });
    expect((await permit(agentId)).status).toBe(409);
    expect(await ring(header)).toBe(486);
  });

  it('counts among the previews of its account', async () => {
    const few = await openTestCalls({ LIMIT_PREVIEWS: '1' });
    const [all, own] = [api, user];
    try {
      api = few;
      user = await api.createUser();
      const agentId = await api.publishAgent(user);
      const [first, second] = [await permit(agentId), await permit(agentId)];
      expect(await ring(first.body.header)).toBe('tag-1');
      expect(await ring(second.body.header)).toBe(503);
    } finally {
      [api, user] = [all, own];
      await few.close();
    }
  });
});

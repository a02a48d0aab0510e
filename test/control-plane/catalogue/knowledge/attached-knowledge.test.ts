import mongoose from 'mongoose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admitCall } from '#control-plane/calls/admission/admit-call.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { sendForm } from './knowledge-form.ts';

let api: TestCalls;
let user: TestUser;
const sources = '/v1/agent/knowledge-sources';
const TEN_MINUTES_MS = 600_000;

beforeAll(async () => {
  api = await openTestCalls();
});
beforeEach(async () => {
  user = await api.createUser();
  api.dispatch.reset();
});
afterAll(() => api.close());

async function upload(source: string, name = 'faq'): Promise<string> {
  return (await sendForm(api, user.key, sources, { method: 'POST', form: { source, name } })).body
    .knowledge_source_id;
}
const replace = (id: string, source: string) =>
  sendForm(api, user.key, `${sources}/${id}`, { method: 'PATCH', form: { source } });
const rename = (id: string, name: string) =>
  sendForm(api, user.key, `${sources}/${id}`, { method: 'PATCH', form: { name } });
const remove = (id: string) => api.request('DELETE', `${sources}/${id}`, { key: user.key });
const dependents = async (id: string) =>
  (await api.request('GET', `${sources}/${id}/agents`, { key: user.key })).body;
const attach = (agent: string, knowledge_base: object) =>
  api.request('PATCH', `/v1/agent/agents/${agent}/config`, { key: user.key, body: { knowledge_base } });
const publish = async (agent: string) =>
  (await api.request('POST', `/v1/agent/agents/${agent}/publish`, { key: user.key })).body.version_number;
const hasChanges = async (agent: string) =>
  (await api.request('GET', `/v1/agent/agents/${agent}`, { key: user.key })).body.has_unpublished_changes;
const agentWith = (ids: string[]) =>
  api.publishAgent(user, { knowledge_base: { knowledge_source_ids: ids } });
const revisions = (id: string) =>
  api.context.models.knowledgeRevisions.countDocuments({ knowledge_source_id: id });

/** The knowledge in the plan for a new session's worker. */
async function planned(agent: string, isPreview = false) {
  const { status, text } = isPreview
    ? await api.request('POST', `/v1/agent/agents/${agent}/preview-sessions`, { key: user.key })
    : await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agent } });
  if (status !== 201) throw new Error(text);
  return api.dispatch.plans.at(-1)?.plan.knowledge;
}

describe('publishing an agent with knowledge', () => {
  it('pins the revision: sessions use published knowledge, previews use the draft', async () => {
    const id = await upload('old text');
    const agent = await agentWith([id]);
    await replace(id, 'new text');
    const entry = { knowledge_source_id: id, name: 'faq' };
    expect(await planned(agent)).toEqual([{ ...entry, content: 'old text' }]);
    expect(await planned(agent, true)).toEqual([{ ...entry, content: 'new text' }]);
    expect(await hasChanges(agent)).toBe(true);
    expect(await publish(agent)).toBe(2);
    expect(await hasChanges(agent)).toBe(false);
    expect(await planned(agent)).toEqual([{ ...entry, content: 'new text' }]);
  });

  it('freezes the name as well, and creates no new version without a change', async () => {
    const id = await upload('text', 'before');
    const agent = await agentWith([id]);
    expect(await publish(agent)).toBe(1);
    await rename(id, 'after');
    expect((await planned(agent))?.[0]?.name).toBe('before');
    expect(await publish(agent)).toBe(2);
    expect((await planned(agent))?.[0]?.name).toBe('after');
  });

  it('keeps the order of attachment, and sends nothing when knowledge is disabled', async () => {
    const [one, two] = [await upload('1'), await upload('2')];
    const agent = await agentWith([two, one]);
    expect((await planned(agent))?.map((source) => source.content)).toEqual(['2', '1']);
    await attach(agent, { enabled: false });
    await publish(agent);
    expect(await planned(agent)).toEqual([]);
  });

  it('gives inbound phone calls the knowledge too', async () => {
    const agent = await agentWith([await upload('opening hours')]);
    const body = {
      provider: 'sip',
      phone_number: '+15550107777',
      inbound_allowed_addresses: ['127.0.0.1'],
      agent_id: agent,
    };
    await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body });
    const invite = {
      call_id: 'c1@example',
      from_user: '+14155550123',
      to_user: '+15550107777',
      source_address: '127.0.0.1',
      source_port: 5060,
      transport: 'udp' as const,
      headers: {},
    };
    await (await admitCall(api.context, invite)).planned;
    expect(api.dispatch.plans.at(-1)?.plan.knowledge.map((source) => source.content)).toEqual([
      'opening hours',
    ]);
  });

  it('omits sources from a plan that do not fit one frame of the worker link', async () => {
    const ids = [await upload('a'), await upload('b'), await upload('c')];
    const agent = await agentWith(ids);
    const half = 13 * 1024 * 1024;
    for (const index of [1, 2]) {
      await api.context.models.versions.updateOne(
        { agent_id: agent },
        { $set: { [`knowledge.${index}.size_bytes`]: half } },
      );
    }
    expect((await planned(agent))?.map((source) => source.content)).toEqual(['a', 'b']);
  });
});

describe('a source used by agents', () => {
  it('cannot be deleted while it is in a draft or in the published version', async () => {
    const id = await upload('text');
    const agent = await agentWith([id]);
    await api.clock.advance(1_000);
    const other = (
      await api.request('POST', '/v1/agent/agents', {
        key: user.key,
        body: { name: 'Bob', config: { knowledge_base: { knowledge_source_ids: [id] } } },
      })
    ).body.agent_id;
    expect(await dependents(id)).toEqual({
      agents: [
        { agent_id: other, name: 'Bob' },
        { agent_id: agent, name: 'Ada' },
      ],
      total: 2,
    });
    const refused = await remove(id);
    expect(refused.status).toBe(409);
    expect(refused.body.message).toMatch(/^Knowledge source is attached to 2 agent\(s\)/);

    await attach(other, { knowledge_source_ids: [] });
    await attach(agent, { knowledge_source_ids: [] });
    expect(await dependents(id)).toEqual({ agents: [{ agent_id: agent, name: 'Ada' }], total: 1 });
    expect((await remove(id)).status).toBe(409);

    // The first version still refers to it, but only the published one counts.
    await publish(agent);
    expect(await dependents(id)).toEqual({ agents: [], total: 0 });
    expect((await remove(id)).status).toBe(204);
    expect((await api.request('GET', `${sources}/${id}`, { key: user.key })).status).toBe(404);
    expect(await revisions(id)).toBe(0);
  });

  it('counts as used even when knowledge is disabled, and no longer once the agent is deleted', async () => {
    const id = await upload('text');
    const agent = await agentWith([id]);
    await attach(agent, { enabled: false });
    await publish(agent);
    expect((await remove(id)).status).toBe(409);
    await api.request('DELETE', `/v1/agent/agents/${agent}`, { key: user.key });
    expect(
      (
        await api.request('DELETE', `${sources}/${id}`, {
          key: user.key,
          headers: { 'content-type': 'application/json' },
        })
      ).status,
    ).toBe(204);
    expect((await remove(id)).status).toBe(404);
  });
});

describe('the cost of a query for knowledge', () => {
  it('does not grow with agents, versions and sources: queries read only what they return', async () => {
    const id = await upload('one');
    for (let index = 0; index < 10; index++) await agentWith([await upload(`other ${index}`)]);
    const agent = await agentWith([id]);
    await api.clock.advance(TEN_MINUTES_MS + 1);
    await replace(id, 'two');
    await api.clock.advance(TEN_MINUTES_MS + 1);
    const asked: { collection: string; filter: object; sort: Record<string, 1 | -1> }[] = [];
    mongoose.set(
      'debug',
      (collection: string, method: string, filter: object, options: { sort?: Record<string, 1 | -1> }) => {
        if (method === 'find') asked.push({ collection, filter, sort: options.sort ?? {} });
      },
    );
    try {
      await replace(id, 'three');
      await dependents(id);
      await planned(agent);
      await hasChanges(agent);
      await api.request('GET', `${sources}?page_size=1`, { key: user.key });
    } finally {
      mongoose.set('debug', false);
    }
    const collections = new Set(asked.map(({ collection }) => collection));
    expect([...collections].sort()).toEqual([
      'agents',
      'knowledge_revisions',
      'knowledge_sources',
      'shares',
      'versions',
    ]);
    for (const { collection, filter, sort } of asked) {
      const { executionStats } = await api.context.models.agents.db
        .collection(collection)
        .find(filter, { sort })
        .explain();
      // The query also examines the one revision that it excludes by id.
      expect(executionStats.totalDocsExamined, `${collection} ${JSON.stringify(filter)}`).toBeLessThanOrEqual(
        executionStats.nReturned + 1,
      );
    }
  });
});

describe('a replaced revision', () => {
  it('is stored while a version pins it, and deleted some time after that', async () => {
    const id = await upload('one');
    const agent = await agentWith([id]);
    await replace(id, 'two');
    await replace(id, 'three');
    expect(await revisions(id)).toBe(3);
    await api.clock.advance(TEN_MINUTES_MS + 1);
    await replace(id, 'four');
    // `one` is pinned, `two` is deleted, `three` was replaced just now.
    expect(await revisions(id)).toBe(3);
    expect((await planned(agent))?.[0]?.content).toBe('one');
    await api.request('DELETE', `/v1/agent/agents/${agent}`, { key: user.key });
    await api.clock.advance(TEN_MINUTES_MS + 1);
    await replace(id, 'five');
    expect(await revisions(id)).toBe(2);
  });

  it('may be missing: a call then starts without it', async () => {
    const [gone, kept] = [await upload('gone'), await upload('kept')];
    const agent = await agentWith([gone, kept]);
    await api.context.models.knowledgeRevisions.deleteMany({ knowledge_source_id: gone });
    expect((await planned(agent))?.map((source) => source.content)).toEqual(['kept']);
  });
});

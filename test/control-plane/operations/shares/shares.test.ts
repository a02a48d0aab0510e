import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sendForm } from '../../catalogue/knowledge/knowledge-form.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { SharedAgent } from './shared-agent.ts';

let api: TestCalls;
let agent: SharedAgent;

beforeAll(async () => {
  api = await openTestCalls({ STARTING_CREDIT: '1000.00' });
});
afterAll(() => api.close());
beforeEach(async () => {
  api.dispatch.reset();
  agent = await SharedAgent.open(api);
});

const refusal = async (body: object) => {
  const answer = await agent.set(body);
  return [answer.status, answer.body.reason];
};
const versions = async () => (await agent.request('GET', `${agent.path}/versions`)).body.versions;
const publish = () => agent.request('POST', `${agent.path}/publish`);

describe('a share of calls', () => {
  it('is absent until it is set, and changes neither the agent nor its configuration', async () => {
    const unset = await agent.request('GET', `${agent.path}/share`);
    expect([unset.status, unset.body.reason]).toEqual([404, 'share_not_set']);
    const read = async () => [
      (await agent.request('GET', agent.path)).body,
      (await agent.request('GET', `${agent.path}/config`)).body,
    ];
    const before = await read();
    expect((await agent.set({ share: 0.1 })).status).toBe(200);
    expect(await read()).toEqual(before);
  });

  it('freezes the draft as a version that is not published', async () => {
    expect((await agent.set({ share: 0.1 })).body).toMatchObject({
      version: 2,
      published_version: 1,
      share: 0.1,
      status: 'running',
      slow_ms: 2000,
      at_least_calls: 30,
      end_reason: null,
      harm: null,
      summary: 'No difference between versions 2 and 1 is certain yet.',
    });
    const [newest, oldest] = await versions();
    expect([newest.version_number, newest.for_share]).toEqual([2, true]);
    expect([oldest.version_number, oldest.for_share]).toEqual([1, undefined]);
    const { body } = await agent.request('GET', agent.path);
    expect(body.has_unpublished_changes).toBe(true);
  });

  it('may be of an earlier version', async () => {
    await publish();
    expect((await agent.set({ share: 0.5, version: 1 })).body).toMatchObject({
      version: 1,
      published_version: 2,
    });
  });

  it('is refused for unknown versions, for the published one, and for a draft that equals it', async () => {
    expect(await refusal({ share: 0.5, version: 9 })).toEqual([404, 'share_version_unknown']);
    expect((await agent.set({ share: 0.5, version: 0 })).status).toBe(422);
    expect(await refusal({ share: 0.5, version: 1 })).toEqual([409, 'share_of_published']);
    await publish();
    expect(await refusal({ share: 0.5 })).toEqual([409, 'share_of_published']);
  });

  it('is more than nothing and less than all, and watches no rate twice', async () => {
    for (const share of [0, 1, -0.1, 1.5]) expect((await agent.set({ share })).status).toBe(422);
    const watch = [{ measure: 'slow' }, { measure: 'slow' }];
    expect((await agent.set({ share: 0.5, watch })).status).toBe(422);
  });

  it('goes on with its figures when it is raised, and begins anew for another version or limit', async () => {
    const first = (await agent.set({ share: 0.3 })).body;
    await agent.call('share');
    await agent.count();
    const raised = (await agent.set({ share: 0.6, version: 2 })).body;
    expect([raised.share_id, raised.arms.share.calls]).toEqual([first.share_id, 1]);
    const slower = (await agent.set({ share: 0.6, version: 2, slow_ms: 3_000 })).body;
    expect(slower.share_id).not.toBe(first.share_id);
    expect(slower.arms.share.calls).toBe(0);
    await agent.write('You are longer.');
    expect((await agent.set({ share: 0.6 })).body).toMatchObject({ version: 3, published_version: 1 });
  });

  it('is of one team: another one neither reads nor stops it', async () => {
    await agent.set({ share: 0.5 });
    const { key } = await api.createUser();
    for (const method of ['GET', 'DELETE'] as const)
      expect((await api.request(method, `${agent.path}/share`, { key })).status).toBe(404);
    expect((await agent.read()).status).toBe('running');
  });

  it('is deleted with its agent', async () => {
    await agent.set({ share: 0.5 });
    await agent.request('DELETE', agent.path);
    expect(await api.context.models.shares.countDocuments({ _id: agent.id })).toBe(0);
  });
});

describe('the end of a share', () => {
  it('by hand leaves its figures readable and gives new calls the published version', async () => {
    await agent.set({ share: 0.9 });
    const person = await agent.personIn('share');
    await agent.call('share');
    await agent.count();
    expect((await agent.request('DELETE', `${agent.path}/share`)).status).toBe(204);
    const ended = await agent.read();
    expect(ended).toMatchObject({ status: 'ended', end_reason: 'by_hand', arms: { share: { calls: 1 } } });
    expect((await agent.session(await agent.begin(person))).share).toBeUndefined();
    const again = await agent.request('DELETE', `${agent.path}/share`);
    expect([again.status, again.body.reason]).toEqual([409, 'share_not_running']);
  });

  it('comes with another publication, because the version beside it is no longer what calls get', async () => {
    await agent.set({ share: 0.9 });
    const person = await agent.personIn('share');
    await agent.write('You are new.');
    expect((await publish()).body.version_number).toBe(3);
    expect(await agent.read()).toMatchObject({ status: 'ended', end_reason: 'published' });
    expect((await agent.session(await agent.begin(person))).share).toBeUndefined();
  });

  it('by promotion publishes its version under the next number, and leaves the draft as it is', async () => {
    await agent.set({ share: 0.5 });
    await agent.write('You are of another mind by now.');
    const promoted = await agent.request('POST', `${agent.path}/share/promote`);
    expect(promoted.body).toMatchObject({
      version_number: 3,
      config: { prompt: { system_prompt: 'You are brief.' } },
    });
    expect(promoted.body.for_share).toBeUndefined();
    expect(await agent.read()).toMatchObject({ status: 'ended', end_reason: 'promoted' });
    const { body: config } = await agent.request('GET', `${agent.path}/config`);
    expect(config.prompt.system_prompt).toBe('You are of another mind by now.');
    const again = await agent.request('POST', `${agent.path}/share/promote`);
    expect([again.status, again.body.reason]).toEqual([409, 'share_not_running']);
  });

  it('by two promotions at once publishes one version', async () => {
    await agent.set({ share: 0.5 });
    const promote = () => agent.request('POST', `${agent.path}/share/promote`);
    await Promise.all([promote(), promote()]);
    expect((await versions()).map((one: { version_number: number }) => one.version_number)).toEqual([
      3, 2, 1,
    ]);
  });

  it('counts as a promotion if the draft that it was made of is published', async () => {
    await agent.set({ share: 0.5 });
    await publish();
    expect(await agent.read()).toMatchObject({ status: 'ended', end_reason: 'promoted' });
  });
});

describe('the knowledge of a share', () => {
  it('is kept while its version takes calls', async () => {
    const { body: source } = await sendForm(api, agent.user.key, '/v1/agent/knowledge-sources', {
      method: 'POST',
      form: { source: 'Bread costs 3 euros.' },
    });
    const attached = (ids: string[]) =>
      agent.request('PATCH', `${agent.path}/config`, { knowledge_base: { knowledge_source_ids: ids } });
    await attached([source.knowledge_source_id]);
    await agent.set({ share: 0.5 });
    await attached([]);
    const remove = () => agent.request('DELETE', `/v1/agent/knowledge-sources/${source.knowledge_source_id}`);
    expect((await remove()).status).toBe(409);
    await agent.request('DELETE', `${agent.path}/share`);
    expect((await remove()).status).toBe(204);
  });
});

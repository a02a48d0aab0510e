import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { storedSums } from '#control-plane/jobs/regret/regret-store.ts';
import { type LearningRules, type Setting, shownBy } from '#control-plane/operations/learning/candidates.ts';
import { runLearners } from '#control-plane/operations/learning/learner.ts';
import type { LearningDocument } from '#control-plane/platform/store/models/learning-model.ts';
import type { VersionDocument } from '#control-plane/platform/store/models/version-model.ts';
import { addMeasured, NO_REGRET } from '#protocol/regret-tally.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const PATIENT = { eagerness: 'balanced', response_wait_ms: 2_000 } as const;
const BODY = { eagerness: ['balanced'], cut_off_bound: 5 };

let api: TestCalls;
let user: TestUser;
let path: string;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.context.models.learnings.deleteMany({});
  user = await api.createUser();
  agentId = await api.publishAgent(user, { conversation: PATIENT });
  path = `/v1/agent/agents/${agentId}`;
});

async function ask(method: Parameters<TestCalls['request']>[0], url: string, body?: object) {
  return api.request(method, url, { key: user.key, ...(body ? { body } : {}) });
}

const learn = async (body: object = BODY) => {
  const answer = await ask('PUT', `${path}/learning`, body);
  expect(answer.status, answer.text).toBe(200);
};
const read = async () => (await ask('GET', `${path}/learning`)).body;
const step = (holder = 'alone') => runLearners(api.context, holder);
const share = async () => (await ask('GET', `${path}/share`)).body;
const stored = async () => {
  const found = await api.context.models.learnings.findById(agentId).lean<LearningDocument>();
  if (!found) throw new Error('it does not learn');
  return found;
};
const version = async (number: number) => {
  const filter = { agent_id: agentId, version_number: number };
  const found = await api.context.models.versions.findOne(filter).lean<VersionDocument>();
  if (!found) throw new Error('no such version');
  return found;
};

/** Measured calls of a version, in whose turns no caller is cut off under waits of 600 ms or more. */
async function measured(number: number, calls: number, setting: Setting): Promise<void> {
  const rules: LearningRules = {
    ...BODY,
    eagerness: ['balanced'],
    wait_min_ms: 300,
    wait_max_ms: 2_000,
    share: 0.05,
  };
  const candidates = shownBy(rules, setting);
  const turns = (waitMs: number) => ({
    ...{ turns: 10, cut_offs: waitMs < 600 ? 2 : 0, unknown: 0 },
    ...{ wait_ms: waitMs * 10, known_wait_ms: waitMs * 10 },
  });
  let sums = NO_REGRET;
  for (let call = 0; call < calls; call += 1)
    sums = addMeasured(
      sums,
      {
        ...{ outcome: 'measured', session_id: '', pauses: 10, judged: 10 },
        own: turns(setting.response_wait_ms),
        candidates: candidates.map(({ response_wait_ms: waitMs = 0 }) => turns(waitMs)),
      },
      candidates,
    );
  const { _id } = await version(number);
  const at = new Date(api.clock.wallTime());
  const day = at.toISOString().slice(0, 10);
  await api.context.models.regretDays.create({
    ...{ _id: `${agentId}:${day}:${_id}`, team_id: user.teamId, agent_id: agentId, day },
    ...{ version_id: _id, version_number: number, rev: 1, at, session_id: 'last' },
    ...storedSums(sums),
  });
}

/** A version that a person has made for a share. */
async function sharedByPerson(): Promise<void> {
  const { versions } = api.context.models;
  const { _id, ...second } = await version(2);
  const change = { version_number: 3, config_hash: 'another' };
  await versions.collection.insertOne({ ...second, _id: `${agentId}-3`, ...change } as never);
  const { status } = await ask('PUT', `${path}/share`, { share: 0.3, version: 3 });
  expect(status).toBe(200);
}

/** A learner that has set its share, for the version that it made. */
async function trying(): Promise<Setting> {
  await learn();
  await measured(1, 200, PATIENT);
  await step();
  const { trial } = await read();
  return trial.setting;
}

describe('a learner', () => {
  it('is absent until it is set, and is set with bounds', async () => {
    const before = (await ask('GET', path)).body;
    const absent = await ask('GET', `${path}/learning`);
    expect(absent.body).toMatchObject({ status: 404, reason: 'learning_not_set' });
    await learn();
    expect(await read()).toMatchObject({
      ...{ status: 'learning', wait_min_ms: 300, wait_max_ms: 2_000, cut_off_bound: 5, share: 0.05 },
      ...{ eagerness: ['balanced'], trial: null },
    });
    expect((await ask('GET', path)).body).toEqual(before);
    const turned = await ask('PUT', `${path}/learning`, { wait_min_ms: 900, wait_max_ms: 800 });
    expect(turned.status).toBe(422);
  });

  it('gives a share of callers a version whose only difference is the wait, and says why', async () => {
    const setting = await trying();
    expect(setting.response_wait_ms).toBeGreaterThanOrEqual(600);
    expect(setting.response_wait_ms).toBeLessThan(700);
    expect(await share()).toMatchObject({ status: 'running', share: 0.05, version: 2, published_version: 1 });
    const [first, second] = [await version(1), await version(2)];
    expect(second.config).toEqual({
      ...first.config,
      conversation: { ...first.config.conversation, ...setting },
    });
    const { history } = await read();
    expect(history.map((entry: { did: string }) => entry.did)).toEqual(['tried', 'began']);
    expect(history[0].why).toContain('logged turns show 0.0 callers cut off in 100');
    const { entries } = (await ask('GET', '/v1/agent/audit-log')).body;
    expect(entries[0]).toMatchObject({
      ...{ action: 'TRIED /v1/agent/agents/{agent_id}/learning', resource_id: agentId, key_id: 'parley' },
    });
  });

  it('publishes it once the calls of the share keep the bound, and puts it into the draft', async () => {
    const setting = await trying();
    await measured(2, 80, setting);
    await step();
    expect((await ask('GET', path)).body).toMatchObject({ has_unpublished_changes: false });
    expect((await version(3)).config.conversation).toMatchObject(setting);
    expect(await share()).toMatchObject({ status: 'ended', end_reason: 'promoted' });
    expect(await read()).toMatchObject({ status: 'learning', trial: null });
    // What it has published shows no shorter waits: it looks at longer ones, and is not paused by itself.
    await step();
    expect(await read()).toMatchObject({ status: 'learning', trial: { purpose: 'look', setting: PATIENT } });
  });

  it('rolls back a share that was stopped on harm, and does not try the setting again', async () => {
    const setting = await trying();
    const end = {
      reason: 'harm',
      at: new Date(),
      harm: { measure: 'failed', difference: 1, low: 0.1, high: 1 },
    };
    await api.context.models.shares.updateOne({ _id: agentId }, { $set: { status: 'ended', end } });
    await step();
    const { refused, history, trial } = await read();
    expect({ refused, trial }).toEqual({ refused: [setting], trial: null });
    expect(history[0]).toMatchObject({ did: 'stopped' });
    expect(history[0].why).toContain('it does harm');
  });

  it.each([
    [
      'another publication',
      async () => {
        await ask('PATCH', `${path}/config`, { prompt: { system_prompt: 'Another one.' } });
        await ask('POST', `${path}/publish`);
      },
      'was published',
    ],
    [
      'a change of the draft',
      async () => {
        await ask('PATCH', `${path}/config`, { prompt: { system_prompt: 'Another one.' } });
      },
      'The draft was changed',
    ],
    [
      'the end of its share',
      async () => {
        await ask('DELETE', `${path}/share`);
      },
      'stopped by a person',
    ],
  ])('is paused by %s, and goes on once it is set again', async (_what, change, reason) => {
    await trying();
    await change();
    await step();
    const paused = await read();
    expect(paused).toMatchObject({ status: 'paused', trial: null });
    expect(paused.why).toContain(reason);
    await learn();
    expect((await read()).status).toBe('learning');
  });

  it('is paused by another share, and leaves it alone', async () => {
    await learn();
    await ask('PATCH', `${path}/config`, { prompt: { system_prompt: 'Another one.' } });
    await ask('PUT', `${path}/share`, { share: 0.1 });
    await learn();
    await measured(1, 200, PATIENT);
    await step();
    expect((await read()).why).toContain('Another share of the calls is running');
    expect(await share()).toMatchObject({ status: 'running', share: 0.1 });
  });

  it('finishes the same step after a crash before its share was set', async () => {
    await trying();
    const { trial } = await stored();
    await ask('DELETE', `${path}/share`);
    await api.context.models.learnings.updateOne(
      { _id: agentId },
      { $set: { trial: { ...trial, share_id: null } } },
    );
    await step();
    expect(await share()).toMatchObject({ status: 'running', version: 2 });
    expect((await stored()).trial?.share_id).toBe((await share()).share_id);
  });

  it('finishes a roll-back after a crash before its share was stopped', async () => {
    await trying();
    await api.context.models.learnings.updateOne({ _id: agentId }, { $set: { trial: null } });
    await step();
    expect(await share()).toMatchObject({ status: 'ended' });
    expect(await read()).toMatchObject({ status: 'learning' });
  });

  it('finishes a promotion after a crash before it was noted', async () => {
    const setting = await trying();
    await ask('POST', `${path}/share/promote`);
    await step();
    expect(await read()).toMatchObject({ status: 'learning', trial: null });
    expect((await ask('GET', `${path}/config`)).body.conversation).toMatchObject(setting);
  });

  it('belongs to one of several processes', async () => {
    await learn();
    await measured(1, 200, PATIENT);
    const until = new Date(api.clock.wallTime() + 60_000);
    const lease = { lease_by: 'another', lease_until: until };
    await api.context.models.learnings.updateOne({ _id: agentId }, { $set: lease });
    await step('this one');
    expect((await read()).trial).toBeNull();
    await step('another');
    expect((await read()).trial).not.toBeNull();
  });

  it('ends its share when other bounds are set, and publishes nothing that was chosen by the old ones', async () => {
    const setting = await trying();
    await measured(2, 80, setting);
    await learn({ ...BODY, cut_off_bound: 1 });
    await step();
    expect(await share()).toMatchObject({ status: 'ended', end_reason: 'by_hand' });
    expect(await api.context.models.versions.countDocuments({ agent_id: agentId })).toBe(2);
  });

  it('leaves no share behind when it is paused', async () => {
    await trying();
    await ask('PATCH', `${path}/config`, { prompt: { system_prompt: 'Another one.' } });
    await step();
    expect(await share()).toMatchObject({ status: 'ended', end_reason: 'by_hand' });
    expect((await read()).why).toContain('The draft was changed');
  });

  it('leaves the share of a person alone that was set while it was about to set its own', async () => {
    await trying();
    const { trial } = await stored();
    await ask('DELETE', `${path}/share`);
    const unset = { $set: { trial: { ...trial, share_id: null } } };
    await api.context.models.learnings.updateOne({ _id: agentId }, unset);
    await sharedByPerson();
    await step();
    expect(await share()).toMatchObject({ status: 'running', share: 0.3 });
    expect((await read()).status).toBe('paused');
  });

  it('publishes nothing once other bounds were set in the middle of its step', async () => {
    const setting = await trying();
    await measured(2, 80, setting);
    const { versions } = api.context.models;
    const find = vi.spyOn(versions, 'find').mockImplementationOnce(((filter: object) => ({
      async lean() {
        find.mockRestore();
        await learn({ ...BODY, cut_off_bound: 1 });
        return versions.find(filter).lean();
      },
    })) as never);
    await step();
    expect((await read()).cut_off_bound).toBe(1);
    expect(await api.context.models.versions.countDocuments({ agent_id: agentId })).toBe(2);
  });

  it('ends with its share when it is deleted; the published version stays', async () => {
    await trying();
    expect((await ask('DELETE', `${path}/learning`)).status).toBe(204);
    expect(await share()).toMatchObject({ status: 'ended', end_reason: 'by_hand' });
    expect((await ask('GET', `${path}/learning`)).status).toBe(404);
  });
});

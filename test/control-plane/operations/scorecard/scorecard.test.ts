/** The scorecard of an agent by the API: calls come from reports of workers. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import { scorecardIdsOf } from '#control-plane/platform/store/models/scorecard-model.ts';
import { dueIn } from '#control-plane/platform/store/session-due.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { dyingAfter, untilItDies } from '../analytics/dying-store.ts';
import { ScoredAgent } from './scored-agent.ts';

let api: TestCalls;
let agent: ScoredAgent;

beforeAll(async () => {
  api = await openTestCalls({ STARTING_CREDIT: '1000.00' });
});
afterAll(() => api.close());
beforeEach(async () => {
  api.dispatch.reset();
  agent = await ScoredAgent.open(api);
});

const tagOf = (sums: { tags: { tag: string }[] }, tag: string) => sums.tags.find((one) => one.tag === tag);

/** An ended call of a person in which both spoke at once for two seconds. */
async function talkedOver(person?: string): Promise<string> {
  const call = { agent_id: agent.id, ...(person && { end_user_id: person }) };
  const { body } = await agent.request('POST', '/v1/agent/sessions', call);
  const id: string = body.session_id;
  await api.report(id, { type: 'joined', at: api.at() });
  const overlap = { started_at: api.at(3_000), duration_ms: 2_000, begun_by: 'agent' } as const;
  await api.report(id, { type: 'overlap', overlap });
  await api.report(id, { type: 'ended', at: api.at(9_000), end_reason: 'user_hangup' });
  return id;
}

describe('the tags of a session', () => {
  it('are in its record once it has ended, with their moments', async () => {
    const id = await agent.call({ silentMs: 5_000, says: ['this is ridiculous'] });
    expect((await agent.session(id)).tags).toEqual([
      {
        tag: 'dead_air',
        count: 1,
        moments: [{ at_ms: 2_000, evidence: '5,000 ms of silence: 5,000 ms: the model’s first word' }],
      },
      {
        tag: 'anger_words',
        count: 1,
        moments: [{ at_ms: 1_000, evidence: '“ridiculous” in: this is ridiculous' }],
      },
    ]);
  });

  it('are no field of a session in which nothing was found, nor of a list', async () => {
    expect(await agent.session(await agent.call())).not.toHaveProperty('tags');
    await agent.call({ silentMs: 5_000 });
    const { body } = await agent.request('GET', '/v1/agent/sessions');
    for (const row of body.sessions) expect(row).not.toHaveProperty('tags');
  });

  it('include what a worker has noted of both speaking at once', async () => {
    expect((await agent.session(await talkedOver())).tags).toMatchObject([
      { tag: 'talked_over', moments: [{ at_ms: 3_000 }] },
    ]);
  });

  it('follow the thresholds of the version that the call had', async () => {
    const before = await agent.call({ silentMs: 2_000 });
    await agent.publish({ scorecard: { dead_air_ms: 1_500 } });
    const after = await agent.call({ silentMs: 2_000 });
    expect((await agent.session(before)).tags).toBeUndefined();
    expect((await agent.session(after)).tags).toMatchObject([{ tag: 'dead_air' }]);
  });
});

describe('a scorecard', () => {
  it('has the share of calls with each tag and each failed criterion, with intervals', async () => {
    await agent.call({ silentMs: 5_000, booked: 'failure' });
    await agent.call({ booked: 'success' });
    await agent.call({ booked: 'unknown' });
    await agent.call();
    await agent.count();
    const { totals } = await agent.scorecard();
    expect(totals.calls).toBe(4);
    expect(tagOf(totals, 'dead_air')).toMatchObject({ calls: 1, rate: 0.25 });
    expect(tagOf(totals, 'loop')).toMatchObject({ calls: 0, rate: 0, low: 0 });
    expect(totals.criteria).toMatchObject([
      { name: 'booked', success: 1, failure: 1, unknown: 1, rate: 0.5 },
    ]);
    expect(totals.criteria[0].low).toBeCloseTo(0.0945, 3);
    expect(totals.criteria[0].high).toBeCloseTo(0.9055, 3);
  });

  it('tells versions apart', async () => {
    await agent.call({ silentMs: 5_000 });
    await agent.publish({ prompt: { system_prompt: 'You are brief.' } });
    await agent.call();
    await agent.call();
    await agent.count();
    const { totals } = await agent.scorecard();
    expect(totals.versions.map((one: { version_number: number }) => one.version_number)).toEqual([2, 1]);
    expect(totals.versions.map((one: { calls: number }) => one.calls)).toEqual([2, 1]);
    expect(tagOf(totals.versions[1], 'dead_air')).toMatchObject({ rate: 1 });
  });

  it('has the newest 50 versions, and the calls of all', async () => {
    await agent.call();
    await agent.count();
    const { scorecards } = api.context.models;
    const [card] = await scorecards.find({ _id: scorecardIdsOf(agent.id) }).lean();
    const day = card?._id.slice(0, card._id.lastIndexOf(':'));
    await scorecards.collection.insertMany(
      Array.from({ length: 60 }, (_, index) => ({
        ...card,
        _id: `${day}:v${index}`,
        version_number: index + 2,
      })) as never[],
    );
    const { totals, buckets } = await agent.scorecard();
    expect(totals.calls).toBe(61);
    for (const { versions } of [totals, buckets.at(-1)]) {
      expect(versions).toHaveLength(50);
      expect(versions[0].version_number).toBe(61);
    }
  });

  it('has a bucket for each day and each hour of the range', async () => {
    await agent.call({ silentMs: 5_000 });
    await agent.count();
    const day = await agent.scorecard();
    expect(day.buckets.map(({ calls }: { calls: number }) => calls)).toEqual([0, 0, 0, 0, 0, 0, 0, 1]);
    const from = api.at(-3_600_000);
    const hours = await agent.scorecard(`?interval=hour&from=${from}&to=${api.at(1_000)}`);
    expect(hours.buckets.map(({ calls }: { calls: number }) => calls).at(-1)).toBe(1);
    expect(tagOf(hours.buckets.at(-1), 'dead_air')).toMatchObject({ calls: 1 });
  });

  it('has no rates without a call', async () => {
    const { totals } = await agent.scorecard();
    expect(totals).toMatchObject({ calls: 0, criteria: [], versions: [] });
    expect(tagOf(totals, 'loop')).toEqual({ tag: 'loop', calls: 0, rate: null, low: null, high: null });
  });

  it('waits for the analysis of a call, but not for ever', async () => {
    const { body } = await agent.request('POST', '/v1/agent/sessions', { agent_id: agent.id });
    await api.report(body.session_id, { type: 'joined', at: api.at() });
    await api.report(body.session_id, { type: 'ended', at: api.at(9_000), end_reason: 'user_hangup' });
    await agent.count();
    expect((await agent.scorecard()).totals.calls).toBe(0);
    api.clock.stall(11 * 60_000);
    await agent.count();
    expect((await agent.scorecard()).totals.calls).toBe(1);
  });

  it('has no call in which caller and agent never met, and no preview', async () => {
    const { body } = await agent.request('POST', '/v1/agent/sessions', { agent_id: agent.id });
    await agent.request('POST', `/v1/agent/sessions/${body.session_id}/end`);
    const preview = await agent.request('POST', `${agent.path}/preview-sessions`);
    await api.report(preview.body.session_id, { type: 'joined', at: api.at() });
    await api.report(preview.body.session_id, {
      type: 'ended',
      at: api.at(9_000),
      end_reason: 'user_hangup',
    });
    api.clock.stall(11 * 60_000);
    await agent.count();
    expect((await agent.scorecard()).totals.calls).toBe(0);
    expect(await api.context.models.sessions.countDocuments(dueIn('score'))).toBe(0);
  });

  it('of another team is not found', async () => {
    const other = await api.createUser();
    for (const path of ['', '/calls?tag=loop', '/alerts'])
      expect((await api.request('GET', `${agent.path}/scorecard${path}`, { key: other.key })).status).toBe(
        404,
      );
  });

  it('refuses a range that is empty or too long', async () => {
    const ask = async (query: string) =>
      (await agent.request('GET', `${agent.path}/scorecard?${query}`)).status;
    expect(await ask('from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z')).toBe(400);
    expect(await ask('interval=hour&from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z')).toBe(400);
  });
});

describe('each call is counted once', () => {
  it.each([0, 1, 2, 3, 4])('although the process dies at write %i', async (writes) => {
    await agent.publish({ scorecard: { alerts: [{ rate: 'dead_air', above: 0.1 }] } });
    for (const isApplied of [true, false]) {
      await agent.call({ silentMs: 5_000, booked: 'failure' });
      await agent.call();
      await untilItDies(agent.count(dyingAfter(api.context, writes, isApplied)));
    }
    await agent.count();
    const { totals } = await agent.scorecard();
    expect(totals.calls).toBe(4);
    expect(tagOf(totals, 'dead_air')).toMatchObject({ calls: 2 });
    expect(totals.criteria).toMatchObject([{ failure: 2 }]);
    expect((await agent.calls('tag=dead_air')).calls).toHaveLength(2);
    expect((await agent.watch())?.rates[0]?.above.calls).toBe(4);
  });

  it('by two replicas at the same time', async () => {
    await agent.copy(await agent.call({ silentMs: 5_000 }), 24);
    await Promise.all([agent.count(), agent.count()]);
    await agent.count();
    expect((await agent.scorecard()).totals.calls).toBe(25);
    await agent.call();
    await agent.count();
    expect((await agent.scorecard()).totals.calls).toBe(26);
  });
});

describe('a call that cannot be read', () => {
  it('keeps no other agent from being scored', async () => {
    const { sessions } = api.context.models;
    const broken = await agent.call({ says: ['hello'] });
    await sessions.collection.updateOne(
      { _id: broken } as never,
      { $set: { 'timeline.0.sealed': Buffer.alloc(64) } } as never,
    );
    const session = await sessions.collection.findOne({ _id: broken } as never);
    const copies = Array.from({ length: 60 }, (_, index) => ({ ...session, _id: `${broken}-${index}` }));
    await sessions.collection.insertMany(copies as never[]);
    const other = await ScoredAgent.open(api);
    await other.call({ silentMs: 5_000 });
    await expect(other.count()).rejects.toThrow();
    expect((await other.scorecard()).totals.calls).toBe(1);
    await sessions.collection.deleteMany({ agent_id: agent.id } as never);
  });
});

describe('the calls behind a figure', () => {
  it('are those with the tag, or those in which the criterion failed, newest first', async () => {
    const silent = await agent.call({ silentMs: 5_000, booked: 'failure' });
    api.clock.stall(1_000);
    const angry = await agent.call({ says: ['this is ridiculous'], booked: 'failure' });
    await agent.call({ booked: 'success' });
    await agent.count();
    expect(await agent.calls('tag=dead_air')).toMatchObject({
      calls: [
        {
          session_id: silent,
          version_number: 1,
          duration_seconds: 60,
          end_reason: 'user_hangup',
          tags: ['dead_air'],
          criteria: [{ name: 'booked', result: 'failure' }],
        },
      ],
      has_more: false,
    });
    const failed = await agent.calls('criterion=booked');
    expect(failed.calls.map((call: { session_id: string }) => call.session_id)).toEqual([angry, silent]);
    expect((await agent.calls('criterion=booked&result=success')).calls).toHaveLength(1);
  });

  it('are listed by version and page by page', async () => {
    await agent.call({ silentMs: 5_000 });
    await agent.publish({ prompt: { system_prompt: 'You are brief.' } });
    await agent.call({ silentMs: 5_000 });
    await agent.call({ silentMs: 5_000 });
    await agent.count();
    const first = await agent.calls('tag=dead_air&page_size=2');
    const rest = await agent.calls(`tag=dead_air&page_size=2&cursor=${first.next_cursor}`);
    expect([first.calls.length, first.has_more, rest.calls.length, rest.has_more]).toEqual([
      2,
      true,
      1,
      false,
    ]);
    expect((await agent.calls('tag=dead_air&version=2')).calls).toHaveLength(2);
    const since = await agent.calls(`tag=dead_air&from=${api.at(60_000)}`);
    expect(since.calls).toEqual([]);
  });

  it('are asked for by either a tag or a criterion', async () => {
    for (const query of ['', 'tag=loop&criterion=booked'])
      expect((await agent.request('GET', `${agent.path}/scorecard/calls?${query}`)).status).toBe(400);
    expect((await agent.request('GET', `${agent.path}/scorecard/calls?tag=bored`)).status).toBe(422);
  });

  it('are forgotten with the transcript, and the figures stay', async () => {
    await agent.call({ silentMs: 5_000 });
    await agent.count();
    await agent.request('PATCH', '/v1/agent/privacy', { transcripts_days: 1 });
    api.clock.stall(2 * 24 * 3_600_000);
    await enforceRetention(api.context, 'replica');
    expect((await agent.calls('tag=dead_air')).calls).toEqual([]);
    expect((await agent.scorecard()).totals.calls).toBe(1);
  });

  it('are not kept of a person who is erased while a slow replica stores them', async () => {
    await talkedOver('eve');
    api.clock.stall(11 * 60_000);
    const { collection } = api.context.models.scoredCalls;
    const insertMany = collection.insertMany.bind(collection);
    vi.spyOn(collection, 'insertMany').mockImplementationOnce(async (...parameters) => {
      await agent.count();
      await agent.request('POST', '/v1/agent/erasures', { end_user_id: 'eve' });
      return insertMany(...parameters);
    });
    await agent.count();
    expect((await agent.calls('tag=talked_over')).calls).toEqual([]);
    expect((await agent.scorecard()).totals.calls).toBe(1);
  });

  it('are deleted with the agent, as its figures and alerts are', async () => {
    await agent.publish({ scorecard: { alerts: [{ rate: 'dead_air', above: 0.1 }] } });
    await agent.call({ silentMs: 5_000 });
    await agent.count();
    const stored = async () => {
      const { scorecards, scoredCalls, scoreWatches } = api.context.models;
      return [
        await scorecards.countDocuments({ _id: scorecardIdsOf(agent.id) }),
        await scoredCalls.countDocuments({ agent_id: agent.id }),
        await scoreWatches.countDocuments({ _id: agent.id }),
      ];
    };
    expect(await stored()).toEqual([1, 1, 1]);
    expect((await agent.request('DELETE', agent.path)).status).toBe(204);
    expect(await stored()).toEqual([0, 0, 0]);
  });

  it('are forgotten with the person, and the figures stay', async () => {
    await talkedOver('ada');
    api.clock.stall(11 * 60_000);
    await agent.count();
    expect((await agent.calls('tag=talked_over')).calls).toHaveLength(1);
    await agent.request('POST', '/v1/agent/erasures', { end_user_id: 'ada' });
    expect((await agent.calls('tag=talked_over')).calls).toEqual([]);
    expect((await agent.scorecard()).totals.calls).toBe(1);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CallCounter, startCallCounter } from '#control-plane/operations/analytics/call-counter.ts';
import { readCalls } from '#control-plane/operations/analytics/read-calls.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { dyingAfter } from './dying-store.ts';
import { CountedTeam } from './test-counts.ts';

const HOUR_MS = 3_600_000;
const COPIES = 250;
/** Longer than a replica that has died keeps its lease, and than sums list a call. */
const LATER_MS = 70_000;

let api: TestCalls;
let team: CountedTeam;

beforeAll(async () => {
  api = await openTestCalls({ STARTING_CREDIT: '1000.00' });
});
afterAll(() => api.close());
beforeEach(async () => {
  const { sessions, callCounts, callCountStates } = api.context.models;
  await sessions.deleteMany({});
  await callCounts.deleteMany({});
  await callCountStates.deleteMany({});
  team = await CountedTeam.open(api);
});

/** Stores ended sessions of two agents as an earlier release left them, seven minutes apart. */
async function storeEarlier(): Promise<void> {
  const id = await team.call({ agent: 0, turns: [400, 700], outcome: 'hangs up', seconds: 60 });
  const { sessions } = api.context.models;
  const { uncounted: _, ...session } = (await sessions.findById(id).lean()) as SessionDocument;
  await sessions.deleteMany({});
  const copies = Array.from({ length: COPIES }, (_, index) => ({
    ...session,
    _id: `earlier-${index}`,
    agent_id: team.agentIds[index % 2],
    created_at: new Date(session.created_at.getTime() - index * 7 * 60_000),
    duration_seconds: index,
  }));
  await sessions.collection.insertMany(copies as never[]);
}

const lastHours = (hours: number) => {
  const toMs = api.clock.wallTime() + 1;
  return { fromMs: toMs - hours * HOUR_MS, toMs, interval: 'hour' as const };
};
const counted = () => api.context.models.sessions.countDocuments({ counted_turns: { $gte: 0 } });

describe('calls of an earlier release', () => {
  it('are in every answer before, while and after they are counted, although the process dies', async () => {
    await storeEarlier();
    await team.check(lastHours(40));
    for (const writes of [3, 130, 260]) {
      await team.die(writes, writes % 2 === 0);
      await team.call({ agent: 1, turns: [900], outcome: 'hangs up', seconds: 5 });
      await team.check(lastHours(40));
    }
    expect(await counted()).toBeLessThan(COPIES);
    await team.count();
    expect(await counted()).toBe(COPIES + 3);
    await team.check(lastHours(40));
    const [state] = await api.context.models.callCountStates.find().lean();
    expect(state).toMatchObject({ seen: expect.any(Number), finished_at: expect.any(Date) });
  });

  it('are in the answers up to a limit, the newest first, which then say so', async () => {
    await storeEarlier();
    const ask = { teamId: team.user.teamId, agentId: undefined, ...lastHours(40), stepMs: HOUR_MS };
    const all = await readCalls(api.context, ask, COPIES);
    expect([all.isTruncated, all.summary.total.sums().calls]).toEqual([false, COPIES]);
    const newest = await readCalls(api.context, ask, 3);
    // Their durations are their numbers, from the newest on.
    expect([newest.isTruncated, newest.summary.total.sums()]).toMatchObject([true, { calls: 3, seconds: 3 }]);
  });

  it('are counted from where the last process stopped', async () => {
    await storeEarlier();
    const { callCountStates } = api.context.models;
    await team.count();
    await callCountStates.updateOne({}, { $set: { finished_at: null } });
    const before = await callCountStates.findOne().lean();
    await new CallCounter(api.context, 'test').count();
    expect(before?.seen).toBe(COPIES);
    expect(await callCountStates.findOne().lean()).toMatchObject({ seen: COPIES });
  });

  it('are counted by one replica at a time, and by another one once that is dead', async () => {
    await storeEarlier();
    const dying = new CallCounter(dyingAfter(api.context, 5, false), 'one');
    await expect(dying.count()).rejects.toThrow('has died');
    const other = new CallCounter(api.context, 'two');
    await other.count();
    expect(await counted()).toBe(0);
    api.clock.stall(LATER_MS);
    await other.count();
    expect(await counted()).toBe(COPIES);
    await team.check(lastHours(40));
  });

  it('are listed by no sums once they are counted', async () => {
    await storeEarlier();
    await team.count();
    expect(await api.context.models.callCounts.countDocuments({ recent: { $ne: [] } })).toBe(0);
  });
});

describe('a replica', () => {
  it('counts what has ended every ten seconds, and stops when it is closed', async () => {
    const loop = startCallCounter(api.context);
    await loop.idle();
    const hangUp = { agent: 0, turns: [400], outcome: 'hangs up', seconds: 1 } as const;
    await team.call(hangUp);
    await api.clock.advance(11_000);
    await loop.idle();
    expect(await counted()).toBe(1);
    await loop.close();
    await team.call(hangUp);
    await api.clock.advance(11_000);
    expect(await counted()).toBe(1);
  });
});

describe('sums', () => {
  it('list a call for twenty seconds, and no longer than necessary', async () => {
    await team.call({ agent: 0, turns: [400], outcome: 'hangs up', seconds: 60 });
    await team.count();
    const listing = () => api.context.models.callCounts.countDocuments({ recent: { $ne: [] } });
    expect(await listing()).toBe(3);
    api.clock.stall(15_000);
    await team.count();
    expect(await listing()).toBe(3);
    api.clock.stall(6_000);
    await team.count();
    expect(await listing()).toBe(0);
  });

  it('keep a call listed until its session says that it is counted', async () => {
    await team.call({ agent: 0, turns: [400], outcome: 'hangs up', seconds: 60 });
    await team.count();
    const { sessions, callCounts } = api.context.models;
    await sessions.updateMany({}, { $set: { uncounted: true }, $unset: { counted_turns: '' } });
    api.clock.stall(LATER_MS);
    await team.die(0, false);
    expect(await callCounts.countDocuments({ recent: { $ne: [] } })).toBe(3);
    await team.count();
    await team.check(lastHours(2));
  });

  it('list a call for twenty seconds more if its session says late that it is counted', async () => {
    const late = await team.call({ agent: 0, turns: [400], outcome: 'hangs up', seconds: 60 });
    await team.die(3, false);
    api.clock.stall(LATER_MS);
    await team.count();
    await team.call({ agent: 0, turns: [400], outcome: 'hangs up', seconds: 0 });
    await team.count();
    expect(await api.context.models.callCounts.countDocuments({ 'recent.id': late })).toBe(3);
  });

  it('grow by the calls alone, not by looking at them', async () => {
    await team.call({ agent: 0, turns: [400], outcome: 'hangs up', seconds: 60 });
    await team.count();
    const revs = async () => (await api.context.models.callCounts.find().lean()).map(({ rev }) => rev);
    const before = await revs();
    await team.count();
    expect(await revs()).toEqual(before);
  });
});

describe('the index of calls that are not counted', () => {
  const examined = async (filter: object, sort: object = {}) => {
    const { sessions } = api.context.models;
    const explained = await sessions.collection.find(filter as never, { sort } as never).explain();
    return explained['executionStats'];
  };

  it('has nothing else: neither counting nor an answer looks at the others', async () => {
    await storeEarlier();
    await team.count();
    for (const agent of [0, 1]) await team.call({ agent, turns: [], outcome: 'hangs up', seconds: 60 });
    expect(await examined({ uncounted: true }, { team_id: 1, created_at: 1 })).toEqual({
      nReturned: 2,
      totalDocsExamined: 2,
    });
    const { fromMs, toMs } = lastHours(40);
    const range = { $gte: new Date(fromMs), $lt: new Date(toMs) };
    const ofTeam = { team_id: team.user.teamId, created_at: range };
    expect(await examined({ ...ofTeam, uncounted: true })).toEqual({ nReturned: 2, totalDocsExamined: 2 });
    const live = { ...ofTeam, status: { $in: ['active', 'unknown'] }, is_listed: true };
    expect(await examined(live)).toEqual({ nReturned: 0, totalDocsExamined: 0 });
  });
});

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CallCounter } from '#control-plane/operations/analytics/call-counter.ts';
import { piecesOf, readCalls } from '#control-plane/operations/analytics/read-calls.ts';
import { COUNT_SPANS, type CountSpan } from '#control-plane/platform/store/models/call-count-model.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { CountedTeam, type TestCall } from './test-counts.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const FIVE_MINUTES_MS = 5 * MINUTE_MS;

let api: TestCalls;

/** A day that begins with an hour and ends now. */
const lastDay = () => {
  const toMs = api.clock.wallTime();
  return { fromMs: Math.floor(toMs / HOUR_MS) * HOUR_MS - DAY_MS, toMs };
};

beforeAll(async () => {
  api = await openTestCalls({ STARTING_CREDIT: '1000.00' });
  // A new store has no calls of earlier releases: from here on, answers come from sums.
  await new CallCounter(api.context, 'test').count();
});
afterAll(() => api.close());

type Step =
  | { readonly do: 'call'; readonly call: TestCall }
  | { readonly do: 'end' | 'analyse'; readonly which: number }
  | { readonly do: 'turn'; readonly which: number; readonly ms: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'count' | 'race' }
  | { readonly do: 'die'; readonly writes: number; readonly isApplied: boolean }
  | { readonly do: 'erase'; readonly agent: number }
  | { readonly do: 'ask'; readonly beforeMs: number; readonly forMs: number; readonly agent: number };

const latency = fc.integer({ min: 0, max: 12_000 });
const which = fc.nat(100);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      call: fc.record({
        agent: fc.nat(1),
        turns: fc.array(latency, { maxLength: 3 }),
        outcome: fc.constantFrom('talks' as const, 'hangs up' as const, 'never joins' as const),
        seconds: fc.nat(400),
      }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('end' as const, 'analyse' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('turn' as const), which, ms: latency }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(0, 25_000, HOUR_MS, DAY_MS),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('count' as const, 'race' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('die' as const), writes: fc.nat(6), isApplied: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('erase' as const), agent: fc.nat(1) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      beforeMs: fc.oneof(fc.nat(HOUR_MS), fc.nat(4 * DAY_MS)),
      forMs: fc.oneof(fc.integer({ min: 1, max: 3 * HOUR_MS }), fc.integer({ min: 1, max: 5 * DAY_MS })),
      agent: fc.nat(2),
    }),
  },
);

async function take(team: CountedTeam, ids: string[], taken: Step): Promise<void> {
  const idOf = (index: number) => ids[index % ids.length];
  switch (taken.do) {
    case 'call':
      ids.push(await team.call(taken.call));
      return;
    case 'wait':
      api.clock.stall(taken.ms);
      return;
    case 'count':
      return team.count();
    case 'race':
      return team.race();
    case 'die':
      return team.die(taken.writes, taken.isApplied);
    case 'erase':
      return team.erase(taken.agent);
    case 'ask': {
      const fromMs = api.clock.wallTime() - taken.beforeMs;
      const range = { fromMs, toMs: fromMs + taken.forMs, agentId: team.agentIds[taken.agent] };
      await team.check({ ...range, interval: 'hour' });
      return team.check({ ...range, interval: 'day' });
    }
    default: {
      const id = idOf(taken.which);
      if (id === undefined) return;
      if (taken.do === 'turn') await team.turn(id, taken.ms);
      else if (taken.do === 'end') await team.end(id);
      else await team.analyse(id);
    }
  }
}

/** Checks the statistics up to the last two calls, with and without each: sums of five minutes may answer. */
async function checkUpToCalls(team: CountedTeam): Promise<void> {
  const began = (await team.sessions()).map(({ created_at: at }) => at.getTime()).toSorted((a, b) => a - b);
  for (const toMs of new Set(began.slice(-2).flatMap((atMs) => [atMs, atMs + 1])))
    await team.check({ fromMs: toMs - DAY_MS, toMs, interval: 'hour' });
}

describe('the statistics of calls', () => {
  it('are those of a plain count, whatever ends, comes late, is erased, dies in between or counts at once', {
    timeout: 180_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
        const team = await CountedTeam.open(api);
        const ids: string[] = [];
        const beganMs = api.clock.wallTime();
        for (const taken of steps) await take(team, ids, taken);
        const all = { fromMs: beganMs - 1, toMs: api.clock.wallTime() + 1, interval: 'day' as const };
        await team.check(all);
        await checkUpToCalls(team);
        await team.count();
        await team.check(all);
        expect((await team.sessions()).filter(({ uncounted }) => uncounted)).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });

  it('include a call once that is counted while a question about it is answered', async () => {
    const team = await CountedTeam.open(api);
    await team.call({ agent: 0, turns: [500], outcome: 'hangs up', seconds: 30 });
    await team.call({ agent: 0, turns: [700], outcome: 'talks', seconds: 30 });
    const live = (await team.sessions()).find(({ status }) => status === 'active');
    const { callCounts } = api.context.models;
    // Between the two reads of the answer, one call is counted, and the other one ends and is counted, too.
    const find = (...parameters: unknown[]) =>
      (async function* () {
        await team.end(live?._id ?? '');
        await team.count();
        yield* callCounts.collection.find(...(parameters as [never]));
      })();
    const models = { ...api.context.models, callCounts: { collection: { find } } as never };
    const hourMs = Math.floor(api.clock.wallTime() / HOUR_MS) * HOUR_MS;
    const { summary } = await readCalls(
      { ...api.context, models },
      {
        teamId: team.user.teamId,
        agentId: undefined,
        fromMs: hourMs - DAY_MS,
        toMs: hourMs + DAY_MS,
        stepMs: HOUR_MS,
      },
    );
    expect(summary.total.sums()).toMatchObject({ calls: 2, live: 0, latency: { turns: 2, p95_ms: 700 } });
  });

  it('are those of the sessions once reading the sums takes too long', async () => {
    const team = await CountedTeam.open(api);
    await team.call({ agent: 0, turns: [500], outcome: 'hangs up', seconds: 30 });
    await team.count();
    const { callCounts } = api.context.models;
    const sums = await callCounts.findOne({ agent_id: team.agentIds[0] ?? '' }).lean();
    const find = async function* () {
      for (;;) {
        api.clock.stall(1_000);
        yield sums;
      }
    };
    const models = { ...api.context.models, callCounts: { collection: { find } } as never };
    const toMs = Math.ceil(api.clock.wallTime() / HOUR_MS) * HOUR_MS;
    const { summary } = await readCalls(
      { ...api.context, models },
      { teamId: team.user.teamId, agentId: undefined, fromMs: toMs - DAY_MS, toMs, stepMs: HOUR_MS },
    );
    expect(summary.total.sums().calls).toBe(1);
  });

  it('include the calls of two processes that count at the same time', async () => {
    const team = await CountedTeam.open(api);
    const hangUp = { agent: 0, turns: [300], outcome: 'hangs up', seconds: 1 } as const;
    await team.call(hangUp);
    await team.count();
    for (let calls = 0; calls < 3; calls++) await team.call(hangUp);
    await team.race();
    await team.count();
    const toMs = Math.ceil(api.clock.wallTime() / HOUR_MS) * HOUR_MS;
    await team.check({ fromMs: toMs - DAY_MS, toMs, interval: 'hour' });
  });

  it('come from sums alone for a range of whole hours, without its sessions', async () => {
    const team = await CountedTeam.open(api);
    for (const seconds of [30, 3_000, 5_000])
      await team.call({ agent: 1, turns: [seconds], outcome: 'hangs up', seconds });
    await team.count();
    const toMs = Math.ceil(api.clock.wallTime() / HOUR_MS) * HOUR_MS;
    const question = { fromMs: toMs - DAY_MS, toMs, interval: 'hour' } as const;
    const answer = await team.ask(question);
    expect(answer.totals).toMatchObject({ calls: 3, total_seconds: 8_030, latency: { turns: 3 } });
    await api.context.models.sessions.deleteMany({ team_id: team.user.teamId });
    expect(await team.ask(question)).toEqual(answer);
  });

  it('come from sums alone up to this moment, without the sessions of the last minutes', async () => {
    const team = await CountedTeam.open(api);
    await team.call({ agent: 1, turns: [400], outcome: 'hangs up', seconds: 30 });
    await team.count();
    const question = { ...lastDay(), interval: 'hour' } as const;
    const answer = await team.ask(question);
    expect(answer.totals).toMatchObject({ calls: 1, total_seconds: 30 });
    await api.context.models.sessions.deleteMany({ team_id: team.user.teamId });
    expect(await team.ask(question)).toEqual(answer);
  });

  it('leave out a call that began after the range, within the five minutes in which it ends', async () => {
    const team = await CountedTeam.open(api);
    api.clock.stall(FIVE_MINUTES_MS - (api.clock.wallTime() % FIVE_MINUTES_MS));
    const hangUp = { agent: 0, turns: [300], outcome: 'hangs up', seconds: 1 } as const;
    await team.call(hangUp);
    const range = lastDay();
    await team.call(hangUp);
    await team.count();
    await team.call(hangUp);
    for (const interval of ['hour', 'day'] as const) await team.check({ ...range, interval });
    expect((await team.ask({ ...range, interval: 'hour' })).totals.calls).toBe(1);
  });

  it('name an agent as it was called in the newest call, and the busiest agents first', async () => {
    const team = await CountedTeam.open(api);
    const [first = '', second = ''] = team.agentIds;
    const rename = (name: string) =>
      api.request('PATCH', `/v1/agent/agents/${first}`, { key: team.user.key, body: { name } });
    for (const name of ['Old', 'New']) {
      await rename(name);
      await team.call({ agent: 0, turns: [], outcome: 'hangs up', seconds: 60 });
      await team.count();
    }
    await team.call({ agent: 1, turns: [], outcome: 'hangs up', seconds: 60 });
    const nowMs = api.clock.wallTime();
    const { agents } = await team.ask({ fromMs: nowMs - DAY_MS, toMs: nowMs, interval: 'day' });
    expect(agents).toMatchObject([
      { agent_id: first, agent_name: 'New', calls: 2 },
      { agent_id: second, agent_name: 'Ada', calls: 1 },
    ]);
  });
});

describe('a range of time', () => {
  it('is divided into whole stretches, longest first, and less than the shortest one at each end', () => {
    const at = fc.integer({ min: 0, max: 40 * DAY_MS });
    const spans = fc.constantFrom<CountSpan[]>(['1d', '1h', '5m'], ['1h', '5m']);
    fc.assert(
      fc.property(at, at, spans, (fromMs, toMs, allowed) => {
        const pieces = piecesOf({ fromMs, toMs }, allowed);
        const ends = pieces.flatMap((piece) => [piece.fromMs, piece.toMs]);
        expect(ends).toEqual(
          fromMs < toMs ? [fromMs, ...pieces.slice(1).flatMap((p) => [p.fromMs, p.fromMs]), toMs] : [],
        );
        for (const { span, ...piece } of pieces) {
          const length = COUNT_SPANS[span ?? '5m'];
          if (span === null) expect(piece.toMs - piece.fromMs).toBeLessThan(2 * length);
          else expect([piece.fromMs % length, piece.toMs % length]).toEqual([0, 0]);
        }
        expect(pieces.length).toBeLessThanOrEqual(7);
      }),
    );
  });
});

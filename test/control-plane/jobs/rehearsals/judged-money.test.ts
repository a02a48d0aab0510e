import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseMoney } from '#base/money.ts';
import { fault } from '#config/errors.ts';
import { judgeRehearsals, startJudgeRunner } from '#control-plane/jobs/rehearsals/judge-runner.ts';
import { runRehearsals } from '#control-plane/jobs/rehearsals/rehearsal-runner.ts';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import type { QuestionOutcome } from '#protocol/judged-turns.ts';
import { say } from '#test/fakes/openai-server.ts';
import type { TestResponse } from '../../test-api.ts';
import { type JudgedCalls, OPENING, openJudgedCalls } from './judged-calls.ts';

const DAY_MS = 86_400_000;

let calls: JudgedCalls;

beforeAll(async () => {
  calls = await openJudgedCalls();
});
afterAll(() => calls.close());
beforeEach(() => calls.renew());
afterEach(() => {
  vi.restoreAllMocks();
});

/** Calls of one turn each. */
async function endedCalls(count: number, endUserId?: string): Promise<void> {
  for (let call = 0; call < count; call++) await calls.endedCall(OPENING, endUserId);
}

/** A rehearsal whose turns have been drawn. */
async function drawn(max_cost = '1.00'): Promise<string> {
  const { body } = await calls.start({ max_cost });
  await calls.pass();
  return body.rehearsal_id;
}

async function untilEnded(id: string, runner = 'test'): Promise<TestResponse['body']> {
  for (let passes = 0; passes < 60; passes++) {
    if ((await calls.read(id)).status !== 'running') break;
    await judgeRehearsals(calls.context, runner);
  }
  return calls.read(id);
}

/** What the account's daily allowance has lost. */
async function spentToday(id: string): Promise<number> {
  const { spending, rehearsals } = calls.context.models;
  const team = (await rehearsals.findById(id).lean())?.team_id;
  const day = new Date(calls.clock.wallTime()).toISOString().slice(0, 10);
  return (await spending.findById(`agent-tests:${team}:${day}`).lean())?.micros ?? 0;
}

const costsOf = ({ cost, cost_unknown }: { cost: string; cost_unknown: string }) =>
  (parseMoney(cost) ?? 0) + (parseMoney(cost_unknown) ?? 0);

describe('the cap of a judged rehearsal', () => {
  it('ends it before a question that could exceed it, and says how many turns were not asked', async () => {
    await endedCalls(12);
    const { status, judged } = await calls.rehearsed({ max_cost: '0.011' });
    expect(status).toBe('completed');
    expect(judged.stopped).toBe('max_cost');
    expect(judged.turns_judged).toBeGreaterThan(0);
    expect(judged.not_judged.not_asked).toBe(12 - judged.turns_judged);
    expect(costsOf(judged)).toBeLessThanOrEqual(11_000);
  });

  it('holds although a worker that was asked never answers: its question counts as paid', async () => {
    await endedCalls(12);
    calls.dispatch.answerQuestion = () => Promise.reject(fault('gateway_unreachable'));
    const { judged } = await calls.rehearsed({ max_cost: '0.02' });
    expect(judged).toMatchObject({ stopped: 'max_cost', turns_judged: 0, cost: '0.00' });
    expect(costsOf(judged)).toBeGreaterThan(0);
    expect(costsOf(judged)).toBeLessThanOrEqual(20_000);
  });

  it('holds although the process that had asked is killed, and the next one goes on', async () => {
    await endedCalls(3);
    const id = await drawn();
    const { answerQuestion } = calls.dispatch;
    calls.dispatch.answerQuestion = () => new Promise(() => undefined);
    void judgeRehearsals(calls.context, 'test');
    await vi.waitFor(() => expect(calls.dispatch.questions.length).toBeGreaterThan(0));
    const reserved = (await calls.read(id)).judged.cost_unknown;
    expect(parseMoney(reserved)).toBeGreaterThan(0);
    calls.dispatch.answerQuestion = answerQuestion;
    // Another process may not take it before the lease of the dead one is over.
    await judgeRehearsals(calls.context, 'next');
    expect(calls.asked.draft).toEqual([]);
    await calls.clock.advance(120_000);
    const { judged } = await untilEnded(id, 'next');
    expect(judged).toMatchObject({ stopped: null, turns_judged: 3, cost_unknown: reserved });
  });

  it('counts what was stored before a kill, and asks no turn twice whose answer was stored', async () => {
    await endedCalls(3);
    const id = await drawn();
    const { spending } = calls.context.models;
    vi.spyOn(spending, 'updateOne').mockRejectedValueOnce(new Error('killed'));
    await judgeRehearsals(calls.context, 'test');
    const { judged } = await untilEnded(id);
    expect(calls.asked.draft).toHaveLength(3);
    expect(judged).toMatchObject({ turns_judged: 3, cost_unknown: '0.00' });
    // Three answers of the draft, three of the version once more, and six of the judge.
    expect(costsOf(judged)).toBe(12 * 164);
    expect(await spentToday(id)).toBe(12 * 164);
  });

  it('holds although a vendor bills answers that never come whole', async () => {
    await endedCalls(12);
    calls.dispatch.answerQuestion = async ({ most_micros: unknown_micros }) => ({
      ...{ outcome: 'failed', error: 'the connection broke', cost_micros: 0, unknown_micros },
    });
    const id = await drawn('0.02');
    const { judged } = await untilEnded(id);
    expect(judged).toMatchObject({ stopped: 'max_cost', cost: '0.00' });
    expect(calls.dispatch.questions.length).toBeLessThan(10);
    const most = calls.dispatch.questions.reduce((sum, { most_micros }) => sum + most_micros, 0);
    expect(costsOf(judged)).toBe(most);
    expect(costsOf(judged)).toBeLessThanOrEqual(20_000);
    expect(await spentToday(id)).toBe(most);
  });

  it('holds while two processes of one name judge: the slower one overwrites nothing', async () => {
    await endedCalls(3);
    const id = await drawn();
    const { answerQuestion } = calls.dispatch;
    let isLate = true;
    const gate = Promise.withResolvers<void>();
    calls.dispatch.answerQuestion = async (question) => {
      if (isLate) await gate.promise;
      return answerQuestion?.(question) ?? { outcome: 'failed', error: '', cost_micros: 0 };
    };
    const slower = judgeRehearsals(calls.context, 'test');
    await vi.waitFor(() => expect(calls.dispatch.questions).toHaveLength(4));
    const reserved = (await calls.read(id)).judged.cost_unknown;
    isLate = false;
    await judgeRehearsals(calls.context, 'test');
    gate.resolve();
    await slower;
    expect((await calls.read(id)).judged.cost_unknown).toBe(reserved);
    expect((await untilEnded(id)).judged).toMatchObject({ turns_judged: 3, cost_unknown: reserved });
  });

  it('names the price that a worker needs, when the reservation was too small', async () => {
    await endedCalls(1);
    const id = await drawn();
    const { answerQuestion } = calls.dispatch;
    let refused = 0;
    calls.dispatch.answerQuestion = async (question) => {
      if (refused++ === 0) return { outcome: 'dear', needs_micros: 100_000 };
      return answerQuestion?.(question) ?? { outcome: 'failed', error: '', cost_micros: 0 };
    };
    expect((await untilEnded(id)).judged).toMatchObject({ turns_judged: 1, cost_unknown: '0.00' });
    expect(calls.dispatch.questions.map(({ most_micros }) => most_micros)).toContain(100_000);
  });
});

describe('a judged rehearsal that cannot go on', () => {
  it('delays no other one: a model that never answers belongs to its own account', async () => {
    await endedCalls(1);
    const hung = await drawn();
    const { agentId, user, dispatch } = calls;
    const { answerQuestion } = dispatch;
    let isHung = true;
    const gate = Promise.withResolvers<QuestionOutcome>();
    dispatch.answerQuestion = (question) =>
      isHung ? gate.promise : (answerQuestion?.(question) ?? gate.promise);
    // The lease of the pass that drew its turn ends.
    await calls.clock.advance(120_000);
    const runner = startJudgeRunner(calls.context);
    try {
      await vi.waitFor(() => expect(dispatch.questions.length).toBeGreaterThan(0));
      isHung = false;
      await calls.another();
      await endedCalls(1);
      const { body } = await calls.start({ max_cost: '1.00' });
      await runRehearsals(calls.context, 'test');
      await vi.waitFor(async () => {
        await calls.clock.advance(2_000);
        expect((await calls.read(body.rehearsal_id)).status).toBe('completed');
      }, 20_000);
      Object.assign(calls, { agentId, user });
      expect((await calls.read(hung)).judged.turns_judged).toBe(0);
    } finally {
      gate.resolve({ outcome: 'failed', error: 'late', cost_micros: 0 });
      await runner.close();
    }
  });

  it('leaves a turn out after two questions in vain', async () => {
    await endedCalls(1);
    calls.answers.draft = { ...say(''), refusal: 400 };
    const { judged } = await calls.rehearsed();
    expect(judged.not_judged.failed).toBe(1);
    expect(calls.asked.draft).toHaveLength(2);
  });

  it('stops with the reason of its model when five turns were in vain, and none was judged', async () => {
    await endedCalls(12);
    const { answerQuestion } = calls.dispatch;
    calls.dispatch.answerQuestion = async () => ({
      outcome: 'failed',
      error: 'no such model',
      cost_micros: 0,
    });
    const { judged } = await calls.rehearsed();
    expect(judged).toMatchObject({ status: 'ended', stopped: 'no such model', turns_judged: 0 });
    expect(answerQuestion).not.toBeNull();
  });

  it('ends after ten minutes without a worker, and keeps what it has found', async () => {
    await endedCalls(1);
    const id = await drawn();
    calls.dispatch.unreachable = 'no_capacity';
    await calls.clock.advance(600_000);
    const { status, judged } = await untilEnded(id);
    expect(status).toBe('completed');
    expect(judged.stopped).toBe('No worker has asked a model for ten minutes');
  });

  it('stops when the account has used up its daily allowance of language models', async () => {
    await endedCalls(1);
    const id = await drawn();
    const { spending, rehearsals } = calls.context.models;
    const team = (await rehearsals.findById(id).lean())?.team_id;
    const day = new Date(calls.clock.wallTime()).toISOString().slice(0, 10);
    const at = new Date(calls.clock.wallTime());
    await spending.create({ _id: `agent-tests:${team}:${day}`, micros: 1e12, at });
    const { judged } = await untilEnded(id);
    expect(judged.stopped).toMatch(/have reached their daily limit/);
    expect(calls.dispatch.questions).toEqual([]);
  });
});

describe('what a judged rehearsal stores about a person', () => {
  it('is deleted with the rehearsal, although the process that deletes it is killed on the way', async () => {
    await endedCalls(1);
    const { rehearsal_id } = await calls.rehearsed();
    const { judgedTurns, rehearsals } = calls.context.models;
    const { request, user, clock } = calls;
    await request('PATCH', '/v1/agent/privacy', { key: user.key, body: { flight_logs_days: 1 } });
    await clock.advance(2 * DAY_MS);
    for (const model of [judgedTurns, rehearsals]) {
      vi.spyOn(model, 'deleteMany').mockRejectedValueOnce(new Error('killed'));
      await enforceRetention(calls.context, 'test').catch(() => undefined);
    }
    await enforceRetention(calls.context, 'test');
    expect(await judgedTurns.countDocuments({ rehearsal_id })).toBe(0);
  });

  it('loses the answers of an erased call, and keeps their verdict counted', async () => {
    await endedCalls(1, 'u-1');
    const { rehearsal_id, judged } = await calls.rehearsed();
    expect(judged.to_read).toHaveLength(1);
    await calls.request('POST', '/v1/agent/erasures', { key: calls.user.key, body: { end_user_id: 'u-1' } });
    const after = (await calls.read(rehearsal_id)).judged;
    expect(after).toMatchObject({ to_read: [], all: { turns: 1, better: 1 } });
    const turns = await calls.context.models.judgedTurns.find({ rehearsal_id }).lean();
    expect(turns.map(({ session_id, content }) => [session_id, content])).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  it('stores no answer to a call that is erased while a model is asked, and keeps what it cost', async () => {
    await endedCalls(1, 'u-1');
    const id = await drawn();
    const { answerQuestion } = calls.dispatch;
    calls.dispatch.answerQuestion = async (question) => {
      const outcome = await answerQuestion?.(question);
      await calls.request('POST', '/v1/agent/erasures', {
        key: calls.user.key,
        body: { end_user_id: 'u-1' },
      });
      return outcome ?? { outcome: 'failed', error: '', cost_micros: 0 };
    };
    const { judged } = await untilEnded(id);
    expect(judged).toMatchObject({ not_judged: { gone: 1 }, cost_unknown: '0.00', to_read: [] });
    expect(costsOf(judged)).toBe(2 * 164);
    const turns = await calls.context.models.judgedTurns.find({ rehearsal_id: id }).lean();
    expect(turns.map(({ session_id, content }) => [session_id, content])).toEqual([
      [null, null],
      [null, null],
    ]);
  });

  it('is not asked when it was erased after it was drawn', async () => {
    await endedCalls(1, 'u-1');
    const id = await drawn();
    await calls.request('POST', '/v1/agent/erasures', { key: calls.user.key, body: { end_user_id: 'u-1' } });
    const { judged } = await untilEnded(id);
    expect(judged.not_judged).toEqual({ not_asked: 0, failed: 0, gone: 1 });
    expect(calls.dispatch.questions).toEqual([]);
  });

  it('is deleted with the transcripts, with its agent, and with the retention of flight logs', async () => {
    await endedCalls(1);
    const { rehearsal_id } = await calls.rehearsed();
    const { judgedTurns } = calls.context.models;
    const keep = (body: object) => calls.request('PATCH', '/v1/agent/privacy', { key: calls.user.key, body });
    await keep({ transcripts_days: 1 });
    await calls.clock.advance(2 * DAY_MS);
    await enforceRetention(calls.context, 'test');
    expect((await calls.read(rehearsal_id)).judged.to_read).toEqual([]);
    expect(await judgedTurns.countDocuments({ rehearsal_id, content: { $ne: null } })).toBe(0);
    await keep({ flight_logs_days: 1 });
    await calls.clock.advance(2 * DAY_MS);
    await enforceRetention(calls.context, 'test');
    expect(await judgedTurns.countDocuments({ rehearsal_id })).toBe(0);
    await endedCalls(1);
    await calls.rehearsed();
    await calls.request('DELETE', `/v1/agent/agents/${calls.agentId}`, { key: calls.user.key });
    expect(await judgedTurns.countDocuments({ agent_id: calls.agentId })).toBe(0);
  });
});

/** A team whose calls are counted, and the plain count of the same calls. */
import { expect } from 'vitest';
import { changeSession } from '#control-plane/calls/sessions/session-store.ts';
import { CallCounter } from '#control-plane/operations/analytics/call-counter.ts';
import { countCalls } from '#control-plane/operations/analytics/count-calls.ts';
import { erasePerson } from '#control-plane/operations/privacy/erase.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { LATENCY } from '../../calls/settlement/test-sessions.ts';
import type { TestUser } from '../../test-api.ts';
import type { TestCalls } from '../../test-calls.ts';
import { dyingAfter } from './dying-store.ts';
import { type PlainQuestion, plainCount, withoutNames } from './plain-count.ts';

/** A call; ended ones end after these seconds, or before anybody joins. */
export interface TestCall {
  readonly agent: number;
  readonly turns: readonly number[];
  readonly outcome: 'talks' | 'hangs up' | 'never joins';
  readonly seconds: number;
}

/** A team with two agents, of whose calls everything is known. */
export class CountedTeam {
  readonly #api: TestCalls;
  readonly user: TestUser;
  readonly agentIds: readonly string[];
  readonly #counter: CallCounter;

  private constructor(api: TestCalls, user: TestUser, agentIds: readonly string[]) {
    this.#api = api;
    this.user = user;
    this.agentIds = agentIds;
    this.#counter = new CallCounter(api.context, 'test');
  }

  /** Opens a new account. */
  static async open(api: TestCalls): Promise<CountedTeam> {
    const user = await api.createUser();
    return new CountedTeam(api, user, [await api.publishAgent(user), await api.publishAgent(user)]);
  }

  /** All sessions of the team as they are stored. */
  sessions(): Promise<SessionDocument[]> {
    return this.#api.context.models.sessions.find({ team_id: this.user.teamId }).lean<SessionDocument[]>();
  }

  async call({ agent, turns, outcome, seconds }: TestCall): Promise<string> {
    const { body, status } = await this.#api.request('POST', '/v1/agent/sessions', {
      key: this.user.key,
      body: { agent_id: this.agentIds[agent], end_user_id: `person-${agent}` },
    });
    expect(status).toBe(201);
    const id: string = body.session_id;
    if (outcome === 'never joins')
      await this.#api.request('POST', `/v1/agent/sessions/${id}/end`, { key: this.user.key });
    else {
      await this.#api.report(id, { type: 'joined', at: this.#api.at() });
      for (const ms of turns) await this.turn(id, ms);
      this.#api.clock.stall(seconds * 1_000);
      if (outcome === 'hangs up') await this.end(id);
    }
    return id;
  }

  /** A worker's report of a turn, which may come after the end of the call. */
  async turn(id: string, totalMs: number): Promise<void> {
    const latency = { ...LATENCY, total_ms: totalMs };
    await this.#api.report(id, { type: 'turn', latency });
  }

  async end(id: string): Promise<void> {
    await this.#api.report(id, { type: 'ended', at: this.#api.at(), end_reason: 'user_hangup' });
  }

  async analyse(id: string): Promise<void> {
    const at = new Date(this.#api.clock.wallTime());
    await changeSession(this.#api.context, id, {
      type: 'analysis.finished',
      at,
      outcome: 'skipped',
      result: null,
    });
  }

  async erase(agent: number): Promise<void> {
    const person = { endUserId: `person-${agent}`, phoneNumber: undefined };
    await erasePerson(this.#api.context, this.user.teamId, person);
  }

  /** Counts what has ended. */
  count(): Promise<void> {
    return this.#counter.count();
  }

  /** Counts in a process that dies after this many writes. */
  async die(writes: number, isApplied: boolean): Promise<void> {
    const dying = new CallCounter(dyingAfter(this.#api.context, writes, isApplied), 'test');
    await dying.count().catch((error: unknown) => expect(String(error)).toContain('has died'));
  }

  /** Counts in two processes at the same time: one has the first of the calls, the other one the last. */
  async race(): Promise<void> {
    const ended = (await this.sessions()).filter(({ uncounted }) => uncounted);
    const third = Math.floor(ended.length / 3);
    const parts = [ended.slice(0, ended.length - third), ended.slice(third)];
    await Promise.all(parts.map((calls) => countCalls(this.#api.context, calls)));
  }

  /** The answer of the API. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
  async ask({ fromMs, toMs, interval, agentId }: PlainQuestion): Promise<any> {
    const parameters = new URLSearchParams({
      from: new Date(fromMs).toISOString(),
      to: new Date(toMs).toISOString(),
      interval,
      ...(agentId !== undefined && { agent_id: agentId }),
    });
    const { body, status } = await this.#api.request('GET', `/v1/agent/analytics?${parameters}`, {
      key: this.user.key,
    });
    expect(status).toBe(200);
    return body;
  }

  /** Asks the API, and compares its answer with a plain count. */
  async check(question: PlainQuestion): Promise<void> {
    expect(withoutNames(await this.ask(question))).toEqual(plainCount(await this.sessions(), question));
  }
}

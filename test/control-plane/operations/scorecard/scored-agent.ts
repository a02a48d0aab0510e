/** An agent whose ended calls are scored, for tests. */
import { scoreCalls } from '#control-plane/operations/scorecard/score-counter.ts';
import type { Context } from '#control-plane/platform/context.ts';
import type { ScoreWatchDocument } from '#control-plane/platform/store/models/scorecard-model.ts';
import { DUE_BITS } from '#control-plane/platform/store/session-due.ts';
import type { AnalysisResult, SessionItem } from '#protocol/session-record.ts';
import { LATENCY } from '../../calls/settlement/test-sessions.ts';
import type { TestUser } from '../../test-api.ts';
import type { TestCalls } from '../../test-calls.ts';
import { copySession, skipAnalysis } from '../ended-sessions.ts';

/** What happens in a call. */
export interface ScoredCall {
  /** Silence that the agent has to answer for, ms. */
  readonly silentMs?: number;
  /** What the caller says. */
  readonly says?: readonly string[];
  /** Both speak at once, ms. */
  readonly overlapMs?: number;
  /** A tool takes so long, ms. */
  readonly toolMs?: number;
  /** The wait for a reply, ms. */
  readonly waitMs?: number;
  /** How long the call lasts; 60 s. */
  readonly lengthMs?: number;
  readonly booked?: AnalysisResult['criteria_results'][number]['result'];
}

/** The agent, of an account of its own, with a criterion `booked`. */
export class ScoredAgent {
  readonly #api: TestCalls;
  readonly user: TestUser;
  readonly id: string;
  readonly path: string;

  private constructor(api: TestCalls, user: TestUser, id: string) {
    this.#api = api;
    this.user = user;
    this.id = id;
    this.path = `/v1/agent/agents/${id}`;
  }

  static async open(
    api: TestCalls,
    config: Record<string, unknown> = {},
    account: Record<string, unknown> = {},
  ): Promise<ScoredAgent> {
    const user = await api.createUser(account);
    const criteria = [{ name: 'booked', description: 'A table was booked' }];
    const id = await api.publishAgent(user, { analysis: { criteria }, ...config });
    return new ScoredAgent(api, user, id);
  }

  request(method: Parameters<TestCalls['request']>[0], path: string, body?: object) {
    return this.#api.request(method, path, { key: this.user.key, ...(body ? { body } : {}) });
  }

  /** Publishes a changed configuration as the next version. */
  async publish(config: object): Promise<void> {
    await this.request('PATCH', `${this.path}/config`, config);
    const published = await this.request('POST', `${this.path}/publish`);
    if (published.status !== 200) throw new Error(published.text);
  }

  /** A whole call by the web, whose analysis is there. Returns its session. */
  async call(happens: ScoredCall = {}): Promise<string> {
    const id = await this.begin();
    await this.finish(id, happens);
    return id;
  }

  /** Begins a call by the web, of a person with this `end_user_id`. */
  async begin(person?: string): Promise<string> {
    const made = await this.request('POST', '/v1/agent/sessions', {
      agent_id: this.id,
      ...(person === undefined ? {} : { end_user_id: person }),
    });
    if (made.status !== 201) throw new Error(made.text);
    return made.body.session_id;
  }

  /** The call goes so, and ends; its analysis is there. */
  async finish(id: string, happens: ScoredCall): Promise<void> {
    await this.#report(id, happens);
    await this.#judge(id, happens.booked);
  }

  async #report(id: string, { says = [], lengthMs = 60_000, ...happens }: ScoredCall): Promise<void> {
    const at = this.#api.at;
    await this.#api.report(id, { type: 'joined', at: at() });
    await this.#reportTimes(id, happens);
    const items = says.map(
      (content, index): SessionItem => ({
        type: 'message',
        role: 'user',
        content,
        turn_id: index + 1,
        created_at: at(1_000 * (index + 1)),
        id: `m${index + 1}`,
      }),
    );
    if (items.length > 0) await this.#api.report(id, { type: 'items', items });
    await this.#api.report(id, { type: 'ended', at: at(lengthMs), end_reason: 'user_hangup' });
  }

  async #reportTimes(id: string, { silentMs, overlapMs, toolMs, waitMs }: ScoredCall): Promise<void> {
    const at = this.#api.at;
    if (waitMs !== undefined)
      await this.#api.report(id, { type: 'turn', latency: { ...LATENCY, total_ms: waitMs } });
    if (silentMs !== undefined)
      await this.#api.report(id, {
        type: 'silence',
        silence: {
          turn_id: 1,
          started_at: at(2_000),
          duration_ms: silentMs,
          ended_by: 'agent',
          causes: [{ cause: 'model', rule: null, ms: silentMs }],
          decisions: [],
        },
      });
    if (overlapMs !== undefined) {
      const overlap = { started_at: at(9_000), duration_ms: overlapMs, begun_by: 'agent' } as const;
      await this.#api.report(id, { type: 'overlap', overlap });
    }
    if (toolMs !== undefined) await this.#api.report(id, { type: 'items', items: toolItems(at, toolMs) });
  }

  /** Runs the analysis as a worker would, or does without one. */
  async #judge(id: string, booked: ScoredCall['booked']): Promise<void> {
    if (booked === undefined) return skipAnalysis(this.#api.context, id);
    const { collection } = this.#api.context.models.sessions;
    const running = {
      $set: { 'analysis.state': 'running', 'analysis.job_id': 'job' },
      $bit: { due: { xor: DUE_BITS.analysis | DUE_BITS.analysing } },
    };
    await collection.updateOne({ _id: id } as never, running as never);
    await this.#api.report(id, {
      type: 'analysis',
      job_id: 'job',
      result: {
        status: 'completed',
        summary: null,
        data: [],
        criteria_results: [{ name: 'booked', result: booked, rationale: 'so' }],
        error: null,
      },
    });
  }

  /** Stores this many copies of an ended call that is not counted yet. */
  copy(sessionId: string, count: number): Promise<void> {
    return copySession(this.#api.context, sessionId, count);
  }

  /** Counts what has ended, and tells of alerts. */
  count(context: Context = this.#api.context): Promise<void> {
    return scoreCalls(context);
  }

  /** A range ends before the instant that is asked for. */
  async scorecard(query = '') {
    this.#api.clock.stall(1);
    return (await this.request('GET', `${this.path}/scorecard${query}`)).body;
  }

  async calls(query: string) {
    return (await this.request('GET', `${this.path}/scorecard/calls?${query}`)).body;
  }

  async alerts() {
    return (await this.request('GET', `${this.path}/scorecard/alerts`)).body;
  }

  async session(id: string) {
    return (await this.request('GET', `/v1/agent/sessions/${id}`)).body;
  }

  /** The state of its watched rates; undefined if none are watched. */
  async watch(): Promise<ScoreWatchDocument | undefined> {
    const found = await this.#api.context.models.scoreWatches.findById(this.id).lean<ScoreWatchDocument>();
    return found ?? undefined;
  }
}

/** A call of a tool that took so long, and its result. */
function toolItems(at: (ms: number) => string, latencyMs: number): SessionItem[] {
  const tool = { call_id: 'c', tool_name: 'find_booking', tool_source: null, turn_id: 1 } as const;
  return [
    { type: 'tool_call', ...tool, input: '{}', created_at: at(12_000) },
    {
      type: 'tool_result',
      ...tool,
      status: 'completed',
      output: '{"table": 4}',
      output_truncated: false,
      error: null,
      latency_ms: latencyMs,
      created_at: at(12_000 + latencyMs),
    },
  ];
}

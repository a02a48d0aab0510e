/** An agent with a published version and a share of its calls, for tests. */
import { drawOf } from '#control-plane/catalogue/agents/version-of-call.ts';
import { countShares } from '#control-plane/operations/shares/share-counter.ts';
import type { Context } from '#control-plane/platform/context.ts';
import type { ShareArm } from '#control-plane/platform/store/models/session-share.ts';
import type { ShareDocument } from '#control-plane/platform/store/models/share-model.ts';
import type { EndReason } from '#protocol/session-record.ts';
import { LATENCY } from '../../calls/settlement/test-sessions.ts';
import type { TestUser } from '../../test-api.ts';
import type { TestCalls } from '../../test-calls.ts';
import { copySession, skipAnalysis } from '../ended-sessions.ts';

/** What happens in a call. */
export interface SharedCall {
  readonly waitMs?: number;
  readonly reason?: EndReason;
}

/** The agent, of an account of its own. */
export class SharedAgent {
  readonly #api: TestCalls;
  readonly user: TestUser;
  readonly id: string;
  readonly path: string;
  #calls = 0;

  private constructor(api: TestCalls, user: TestUser, id: string) {
    this.#api = api;
    this.user = user;
    this.id = id;
    this.path = `/v1/agent/agents/${id}`;
  }

  /** Publishes version 1 and changes the draft. */
  static async open(api: TestCalls, config: Record<string, unknown> = {}): Promise<SharedAgent> {
    const user = await api.createUser();
    const agent = new SharedAgent(api, user, await api.publishAgent(user, config));
    await agent.write('You are brief.');
    return agent;
  }

  request(method: Parameters<TestCalls['request']>[0], path: string, body?: object) {
    return this.#api.request(method, path, { key: this.user.key, ...(body ? { body } : {}) });
  }

  /** Changes the prompt of the draft. */
  async write(prompt: string): Promise<void> {
    await this.request('PATCH', `${this.path}/config`, { prompt: { system_prompt: prompt } });
  }

  set(body: object) {
    return this.request('PUT', `${this.path}/share`, body);
  }

  async read() {
    return (await this.request('GET', `${this.path}/share`)).body;
  }

  async stored(): Promise<ShareDocument> {
    const share = await this.#api.context.models.shares.findById(this.id).lean<ShareDocument>();
    if (!share) throw new Error('the agent has no share');
    return share;
  }

  /** The arm that a caller belongs to. */
  async armOf(caller: string): Promise<ShareArm> {
    const { share_id, share } = await this.stored();
    return drawOf(this.id, share_id, `caller:${caller}`) < share ? 'share' : 'published';
  }

  /** A person who belongs to this arm. */
  async personIn(arm: ShareArm): Promise<string> {
    for (;;) {
      this.#calls += 1;
      const person = `person-${this.#calls}`;
      if ((await this.armOf(person)) === arm) return person;
    }
  }

  /** Begins a call by the web. */
  async begin(person: string): Promise<string> {
    const made = await this.request('POST', '/v1/agent/sessions', { agent_id: this.id, end_user_id: person });
    if (made.status !== 201) throw new Error(made.text);
    return made.body.session_id;
  }

  /** A whole call of a new person in this arm, whose analysis is not due. */
  async call(arm: ShareArm, { waitMs = 500, reason = 'user_hangup' }: SharedCall = {}): Promise<string> {
    const id = await this.begin(await this.personIn(arm));
    await this.#api.report(id, { type: 'joined', at: this.#api.at() });
    await this.#api.report(id, { type: 'turn', latency: { ...LATENCY, total_ms: waitMs } });
    await this.#api.report(id, { type: 'ended', at: this.#api.at(10_000), end_reason: reason });
    await skipAnalysis(this.#api.context, id);
    return id;
  }

  /** Stores this many copies of an ended call that is not counted yet. */
  copy(sessionId: string, count: number): Promise<void> {
    return copySession(this.#api.context, sessionId, count);
  }

  async session(id: string) {
    return (await this.request('GET', `/v1/agent/sessions/${id}`)).body;
  }

  /** Counts what has ended, and tells of a stop. */
  async count(context: Context = this.#api.context): Promise<void> {
    await countShares(context);
  }
}

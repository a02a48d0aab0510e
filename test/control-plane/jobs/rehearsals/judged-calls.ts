/**
 * Ended calls to rehearse with a judge: the routes, the runners and the store are real, and a worker's half
 * asks a stand-in of OpenAI over its protocol.
 */
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { judgeRehearsals } from '#control-plane/jobs/rehearsals/judge-runner.ts';
import { runRehearsals } from '#control-plane/jobs/rehearsals/rehearsal-runner.ts';
import type { TurnQuestion } from '#protocol/judged-turns.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import { answerQuestion } from '#runtime/agent-tests/answer-question.ts';
import { createLanguageModel } from '#runtime/llm/create-language-model.ts';
import { type ChatBody, type ChatScript, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { begunCall, endCall } from '../../logged-calls.ts';
import type { TestResponse, TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

/** A list price that a judge's test can count with: 0.40 and 1.60 dollars for a million tokens. */
export const MODEL = 'openai/gpt-4.1-mini';
/** The turns of a short call. */
export const OPENING = [['When do you open?', 'At ten.']] as const;
/** Words of the draft's prompt, and of the published one. */
export const [OLD, NEW] = ['You answer for the old bakery.', 'You answer for the new bakery.'];

/** The API, an agent whose draft has another prompt, and its vendor. */
export interface JudgedCalls extends TestCalls {
  user: TestUser;
  agentId: string;
  /** What the vendor answers: to the judge, to the draft, and to the published version. */
  answers: { judge: (body: string) => ChatScript; draft: ChatScript; again: ChatScript };
  /** Text of all requests of a role, oldest first. */
  readonly asked: Record<'judge' | 'draft' | 'again', string[]>;
  /** Another user with an agent; the judge prefers noon, which the draft answers. */
  renew(): Promise<void>;
  /** Another user with an agent, besides those that are there. */
  another(): Promise<void>;
  endedCall(turns: readonly (readonly [string, string])[], endUserId?: string): Promise<string>;
  start(judge?: object, body?: object): Promise<TestResponse>;
  read(id: string): Promise<TestResponse['body']>;
  /** Starts a rehearsal and runs it to its end. */
  rehearsed(judge?: object): Promise<TestResponse['body']>;
  pass(): Promise<void>;
}

/** A verdict as the judge writes it. */
export const verdict = (result: string, reason = 'Because.') => say(JSON.stringify({ result, reason }));

/** A judge who finds the answer better that contains these words, wherever it stands. */
export const prefers = (words: string) => (body: string) => {
  const [first = '', second = ''] = body
    .split('<second_answer>')
    .map((part) => part.split('<first_answer>').at(-1));
  const [isFirst, isSecond] = [first.includes(words), second.includes(words)];
  return verdict(isFirst === isSecond ? 'same' : isFirst ? 'first' : 'second', `It says ${words}.`);
};

/** Opens it. */
export async function openJudgedCalls(): Promise<JudgedCalls> {
  const asked = { judge: [], draft: [], again: [] } as JudgedCalls['asked'];
  const roleOf = (text: string) =>
    text.includes('You judge') ? 'judge' : text.includes(NEW) ? 'draft' : 'again';
  const server = await startOpenaiServer({
    outputTokens: 100,
    chat: (body: ChatBody) => {
      const text = body.messages.map(({ role, content }) => `${role}: ${String(content)}`).join('\n');
      const role = roleOf(text);
      asked[role].push(text);
      return role === 'judge' ? calls.answers.judge(text) : calls.answers[role];
    },
  });
  const vendor = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'key' };
  const api = await openTestCalls(vendor);
  const logger = createLogger({ level: 'silent', name: 'test' });
  const egress = createEgressGuard({ allow: ['127.0.0.1'], clock: api.clock });
  const settings = readSettings(vendor);
  const { clock } = api;
  const worker = (question: TurnQuestion) =>
    answerQuestion(question, {
      modelFor: (plan) => createLanguageModel({ settings, plan, egress, clock, logger, isAlone: true }),
      openKnowledge: () => null,
      ...{ egress, serverTokens: new McpTokens(clock), clock, logger },
    });
  const closeApi = api.close;
  const calls = Object.assign(api, {
    ...({ asked, user: null as never, agentId: '' } as const),
    answers: usualAnswers(),
    async renew() {
      calls.answers = usualAnswers();
      api.dispatch.reset();
      api.dispatch.answerQuestion = worker;
      await api.context.models.rehearsals.deleteMany({});
      await api.context.models.judgedTurns.deleteMany({});
      for (const list of Object.values(asked)) list.length = 0;
      await calls.another();
    },
    async another() {
      calls.user = await api.createUser();
      const prompt = { system_prompt: OLD, first_message_mode: 'off' };
      calls.agentId = await api.publishAgent(calls.user, { llm: { model: MODEL }, prompt });
      await api.request('PATCH', `/v1/agent/agents/${calls.agentId}/config`, {
        key: calls.user.key,
        body: { prompt: { system_prompt: NEW } },
      });
    },
    async endedCall(turns: readonly (readonly [string, string])[], endUserId?: string) {
      const call = { agent_id: calls.agentId, ...(endUserId && { end_user_id: endUserId }) };
      const id = await begunCall(api, calls.user.key, call);
      const items = turns.flatMap(([user, agent], index) => [
        message('user', user, index, api.at(10_000 * index)),
        message('assistant', agent, index, api.at(10_000 * index + 1_000)),
      ]);
      await api.report(id, { type: 'items', items });
      await endCall(api, id, null);
      return id;
    },
    async pass() {
      await runRehearsals(api.context, 'test');
      await judgeRehearsals(api.context, 'test');
    },
    start: (judge?: object, body: object = {}) =>
      api.request('POST', `/v1/agent/agents/${calls.agentId}/rehearsals`, {
        key: calls.user.key,
        body: { ...body, ...(judge && { judge }) },
      }),
    read: async (id: string) =>
      (
        await api.request('GET', `/v1/agent/agents/${calls.agentId}/rehearsals/${id}`, {
          key: calls.user.key,
        })
      ).body,
    async rehearsed(judge: object = { max_cost: '1.00' }) {
      const { status, body, text } = await calls.start(judge);
      if (status !== 201) throw new Error(text);
      for (let passes = 0; passes < 60; passes++) {
        await calls.pass();
        if ((await calls.read(body.rehearsal_id)).status !== 'running') break;
      }
      return calls.read(body.rehearsal_id);
    },
    async close() {
      await closeApi();
      await server.close();
      await egress.close();
    },
  }) as unknown as JudgedCalls;
  return calls;
}

function usualAnswers(): JudgedCalls['answers'] {
  return { judge: prefers('noon'), draft: say('At noon.'), again: say('At ten.') };
}

function message(role: 'user' | 'assistant', content: string, turn: number, created_at: string): SessionItem {
  return { type: 'message', role, content, turn_id: turn + 1, created_at, id: `m${turn}${role}` };
}

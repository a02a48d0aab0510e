import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { mostMicros, type QuestionOutcome, type TurnQuestion } from '#protocol/judged-turns.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import { answerQuestion } from '#runtime/agent-tests/answer-question.ts';
import { createLanguageModel } from '#runtime/llm/create-language-model.ts';
import { startAnthropicServer } from '#test/fakes/anthropic-server.ts';
import {
  type ChatScript,
  callTool,
  type OpenaiServer,
  say,
  startOpenaiServer,
} from '#test/fakes/openai-server.ts';
import { testPlan, testTool, WEB } from '../test-plan.ts';

const MODEL = 'openai/gpt-4.1-mini';
const NOW = Date.parse('2026-11-01T10:00:00.000Z');

let server: OpenaiServer;
let script: ChatScript;

beforeEach(async () => {
  script = say('At noon.');
  server = await startOpenaiServer({ chat: () => script, outputTokens: 100 });
});
afterEach(() => server.close());

const message = (role: 'user' | 'assistant', content: string): SessionItem => ({
  ...{ type: 'message', role, content, turn_id: 1, id: 'm1' },
  created_at: '2026-11-01T10:00:00.000Z',
});
const ITEMS = [message('user', 'When do you open?')];

async function ask(
  question: TurnQuestion,
  environment: Record<string, string> = {},
): Promise<QuestionOutcome> {
  const settings = readSettings({ OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'k', ...environment });
  const logger = createLogger({ level: 'silent', name: 'test' });
  const clock = systemClock;
  const egress = createEgressGuard({ allow: ['127.0.0.1'], clock });
  try {
    return await answerQuestion(question, {
      modelFor: (plan) => createLanguageModel({ settings, plan, egress, clock, logger, isAlone: true }),
      openKnowledge: () => null,
      ...{ egress, clock, logger, serverTokens: new McpTokens(clock) },
    });
  } finally {
    await egress.close();
  }
}

const answer = (over: object = {}, plan = testPlan({ llm: { model: MODEL } }, WEB)): TurnQuestion => ({
  ...{ step: 'answer', plan, items: ITEMS, at_ms: NOW, most_micros: 1_000_000 },
  ...over,
});
const compare = (over: object = {}): TurnQuestion => ({
  ...{ step: 'compare', model: MODEL, local_models: [], items: ITEMS, most_micros: 1_000_000 },
  first: { text: 'At ten.', calls: [] },
  second: { text: 'At noon.', calls: [{ tool_name: 'book', arguments: '{"day":"Friday"}' }] },
  ...over,
});

describe('a question about a turn', () => {
  it('is answered with words and the list price', async () => {
    expect(await ask(answer())).toEqual({
      outcome: 'answered',
      answer: { text: 'At noon.', calls: [] },
      cost_micros: 164,
    });
  });

  it('is asked at the time of the call', async () => {
    await ask(answer());
    expect(server.requests[0]?.body.toString()).toContain('It is now Sunday, November 1, 2026');
  });

  it('is answered with a call of a tool, which does not run', async () => {
    script = callTool('book', { day: 'Friday' }, 'Let me see.');
    const tool = testTool({ function_name: 'book', url: `${server.url}/book` });
    const plan = testPlan({ llm: { model: MODEL } }, { ...WEB, tools: [tool] });
    expect(await ask(answer({}, plan))).toMatchObject({
      answer: { text: 'Let me see.', calls: [{ tool_name: 'book', arguments: '{"day":"Friday"}' }] },
    });
    expect(server.requests.map(({ path }) => path)).toEqual(['/v1/chat/completions']);
  });

  it('that could cost more than it may is sent to no model, and says what it needs', async () => {
    const outcome = await ask(answer({ most_micros: 100 }));
    expect(outcome).toMatchObject({ outcome: 'dear' });
    const needs = outcome.outcome === 'dear' ? outcome.needs_micros : 0;
    expect(needs).toBeGreaterThan(mostMicros(MODEL, 100));
    expect(server.requests).toEqual([]);
    expect(await ask(answer({ most_micros: needs }))).toMatchObject({ outcome: 'answered' });
  });

  it('limits the length of the answer that it pays for', async () => {
    await ask(answer());
    expect(server.requests[0]?.json).toMatchObject({ max_tokens: 1_000 });
  });

  it('is sent once, and never to another vendor’s model', async () => {
    const other = await startAnthropicServer([say('Hello.')]);
    script = { ...say(''), refusal: 503 };
    const outcome = await ask(answer(), { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: other.url });
    expect(outcome).toEqual({ outcome: 'failed', error: 'The model answered HTTP 503', cost_micros: 0 });
    expect(server.requests).toHaveLength(1);
    expect(other.requests).toEqual([]);
    await other.close();
  });

  it('whose answer breaks off has the most that it can have cost as its unknown price', async () => {
    server.fault = { cut: 'body' };
    const outcome = await ask(answer());
    expect(outcome).toMatchObject({ outcome: 'failed', cost_micros: 0 });
    const unknown = outcome.outcome === 'failed' ? (outcome.unknown_micros ?? 0) : 0;
    expect(unknown).toBeGreaterThan(mostMicros(MODEL, Buffer.byteLength('When do you open?')));
    expect(unknown).toBeLessThan(1_000_000);
  });

  it.each(['local/demo', 'groq/unknown-here'])('to %s fails with the reason, for nothing', async (model) => {
    const outcome = await ask(answer({}, testPlan({ llm: { model } }, WEB)));
    const error = expect.stringContaining(model);
    expect(outcome).toEqual({ outcome: 'failed', error, cost_micros: 0 });
  });

  it('to the judge shows both answers with their calls, and returns the verdict with a reason', async () => {
    script = say('Gladly: {"result": "second", "reason": "It books."}');
    expect(await ask(compare())).toEqual({
      ...{ outcome: 'compared', result: 'second', reason: 'It books.', cost_micros: 164 },
    });
    const body = server.requests[0]?.body.toString() ?? '';
    expect(body).toContain('Calls book with');
    expect(body).toContain('Caller: When do you open?');
  });

  it('to a judge who answers in another form fails, and has its price', async () => {
    script = say('Both are fine.');
    expect(await ask(compare())).toEqual({
      outcome: 'failed',
      error: 'the answer of the judging model cannot be parsed',
      cost_micros: 164,
    });
  });
});

import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { TextTurnEvent, TextTurnJob, TextTurnResult } from '#protocol/text-turn.ts';
import { createKnowledgeSearch } from '#runtime/knowledge/knowledge-search.ts';
import { createLanguageModel } from '#runtime/llm/create-language-model.ts';
import { runTextTurn } from '#runtime/text-turns/run-text-turn.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { listenLocally } from '#test/fakes/local-server.ts';
import {
  type ChatScript,
  callTool,
  type OpenaiServer,
  say,
  startOpenaiServer,
} from '#test/fakes/openai-server.ts';
import { testPlan, testTool, WEB } from '../test-plan.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const logger = createLogger({ level: 'silent', name: 'test' });

interface Bench {
  readonly server: OpenaiServer;
  readonly events: TextTurnEvent[];
  /** The contents of the model's request of this number. */
  asked(request?: number): string;
  run(job?: Partial<TextTurnJob>, plan?: Partial<CallPlan>): Promise<TextTurnResult>;
}

async function openBench(
  chat: readonly ChatScript[],
  config: Record<string, object> = {},
  clock: Clock = systemClock,
): Promise<Bench> {
  const server = await startOpenaiServer({ chat });
  const egress = createEgressGuard({ allow: ['127.0.0.1'], clock });
  const knowledge = createKnowledgeSearch({ clock, logger });
  closing.push(
    () => server.close(),
    () => egress.close(),
    () => knowledge.close(),
  );
  const settings = readSettings({ OPENAI_BASE_URL: server.url });
  const events: TextTurnEvent[] = [];
  const sections = {
    llm: { model: 'openai/test' },
    prompt: { system_prompt: 'You take bookings for {{place}}.', first_message_mode: 'off' },
    ...config,
  };
  return {
    server,
    events,
    asked: (request = 0) => JSON.stringify(server.requests[request]?.json ?? null),
    run: (job = {}, changes = {}) =>
      runTextTurn(
        {
          turn_id: 't1',
          plan: testPlan(sections, { ...WEB, variables: { place: 'Rossi' }, ...changes }),
          medium: 'chat',
          number: 1,
          items: [],
          message: 'A table for Friday, please.',
          is_streamed: true,
          ...job,
        },
        {
          modelFor: (plan) => createLanguageModel({ settings, plan, egress, clock, logger }),
          openKnowledge: (plan, budgetMs) => knowledge.open(plan, budgetMs),
          egress,
          serverTokens: new McpTokens(clock),
          clock,
          logger,
          onEvent: (event) => events.push(event),
        },
      ),
  };
}

const said = (role: 'user' | 'assistant', content: string): SessionItem => ({
  type: 'message',
  role,
  content,
  turn_id: 1,
  created_at: '2026-11-28T10:00:00.000Z',
  id: content,
});

describe('a turn of a text session', () => {
  it('answers with the agent’s prompt and variables, told that it writes and does not speak', async () => {
    const bench = await openBench([say('For how many people?')]);
    const result = await bench.run();
    expect(result).toMatchObject({
      reply: 'For how many people?',
      has_ended: false,
      error: null,
      items: [{ type: 'message', role: 'assistant', content: 'For how many people?', turn_id: 1 }],
    });
    expect(result.usage).toHaveLength(1);
    expect(bench.asked()).toContain('You take bookings for Rossi.');
    expect(bench.asked()).toContain('You are writing with a person');
    expect(bench.asked()).not.toContain('read aloud');
    expect(bench.asked()).toContain('A table for Friday, please.');
  });

  it('asks for no hint of the expected answer, because a message in writing has no pauses', async () => {
    const bench = await openBench([say('For how many people?')]);
    await bench.run({}, { answer_hints: true });
    expect(bench.asked()).not.toContain('[expects');
  });

  it('an answer that is sent as SMS is asked to be short', async () => {
    const bench = await openBench([say('Yes.')]);
    await bench.run({ medium: 'sms' });
    expect(bench.asked()).toContain('sent as SMS');
  });

  it('the model sees what was written and done before, in order', async () => {
    const bench = await openBench([say('At seven.')]);
    const tool = { call_id: 'c1', tool_name: 'book', tool_source: 'webhook', turn_id: 1 };
    const at = { created_at: '2026-11-28T10:00:00.000Z' };
    await bench.run({
      number: 2,
      items: [
        said('user', 'A table, please'),
        { type: 'tool_call', ...tool, input: '{"day":"Friday"}', ...at },
        {
          type: 'tool_result',
          ...tool,
          status: 'completed',
          output: 'booked for 19:00',
          output_truncated: false,
          error: null,
          latency_ms: 3,
          ...at,
        },
        said('assistant', 'Done.'),
      ],
      message: 'When?',
    });
    const { messages } = bench.server.requests[0]!.json as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role).filter((role) => role !== 'system')).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
    expect(bench.asked()).toContain('booked for 19:00');
  });

  it('calls the agent’s tools, and the result has their calls and answers', async () => {
    const asked: string[] = [];
    const web = createServer((request, response) => {
      request.on('data', (data) => asked.push(String(data)));
      request.on('end', () => response.end('{"time":"19:00"}'));
    });
    const { port, close } = await listenLocally(web);
    closing.push(close);
    const bench = await openBench([callTool('book', { day: 'Friday' }), say('Booked for seven.')]);
    const tools = [testTool({ url: `http://127.0.0.1:${port}/book`, execution_mode: 'background' })];
    const result = await bench.run({}, { tools });
    expect(asked).toEqual(['{"day":"Friday"}']);
    expect(result.items).toMatchObject([
      { type: 'tool_call', tool_name: 'book', input: '{"day":"Friday"}' },
      { type: 'tool_result', tool_name: 'book', status: 'completed', output: '{"time":"19:00"}' },
      { type: 'message', content: 'Booked for seven.' },
    ]);
    expect(bench.events.filter(({ type }) => type === 'text_tool')).toEqual([
      { type: 'text_tool', tool_name: 'book', status: 'started' },
      { type: 'text_tool', tool_name: 'book', status: 'completed' },
    ]);
  });

  it('tells what the agent writes while it writes, and nothing if nobody reads it', async () => {
    const bench = await openBench([say('A long answer in several words.')]);
    await bench.run();
    const told = bench.events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : []));
    expect(told.join('')).toBe('A long answer in several words.');
    bench.events.length = 0;
    await bench.run({ is_streamed: false });
    expect(bench.events).toEqual([]);
  });

  it('finds the passages of large knowledge, and the timeline says which', async () => {
    const filler = 'The kitchen closes at ten. '.repeat(500);
    const bench = await openBench([say('Yes, there is a terrace.')], {
      knowledge_base: { enabled: true, knowledge_source_ids: ['k1'] },
    });
    const result = await bench.run(
      { message: 'Is there a terrace?' },
      {
        knowledge: [
          {
            knowledge_source_id: 'k1',
            name: 'House',
            content: `${filler}\n\n# Terrace\n\nThe terrace has nine tables.`,
          },
        ],
      },
    );
    expect(bench.asked()).toContain('nine tables');
    expect(result.items[0]).toMatchObject({
      type: 'knowledge_retrieval',
      query: 'Is there a terrace?',
      status: 'completed',
    });
  });

  it('the agent ends the conversation with its hang-up tool, and says goodbye', async () => {
    const bench = await openBench([callTool('_hang_up_call', { farewell: 'Goodbye!' })], {
      tools: { system_tools: { hang_up_call: true } },
    });
    expect(await bench.run()).toMatchObject({ reply: 'Goodbye!', has_ended: true });
  });

  it.each([
    ['fixed', { first_message: 'Rossi, hello!' }, 'Rossi, hello!', 0],
    ['prompt', { first_message_prompt: 'Greet the guest.' }, 'Good evening!', 1],
    ['off', {}, '', 0],
  ])(
    'without a message the agent opens as its first message mode %s says',
    async (mode, texts, reply, asked) => {
      const bench = await openBench([say('Good evening!')], {
        prompt: { system_prompt: 'x', first_message_mode: mode, ...texts },
      });
      expect(await bench.run({ message: null })).toMatchObject({ reply, error: null });
      expect(bench.server.requests).toHaveLength(asked);
    },
  );

  it('a model that refuses is an error with its cause, and what tools did stays in the items', async () => {
    const bench = await openBench([{ ...say(''), refusal: 400 }]);
    const result = await bench.run();
    expect(result).toMatchObject({ reply: '', has_ended: false, error: expect.stringContaining('400') });
    expect(result.items).toMatchObject([{ type: 'llm.endpoint_error' }]);
  });

  it('by SMS, where no client can show an error, it has an apology in the language of the agent', async () => {
    const bench = await openBench([{ ...say(''), refusal: 400 }], { voice: { speaking_language: 'de' } });
    const result = await bench.run({ medium: 'sms' });
    expect(result).toMatchObject({
      reply: phrasesFor('de').trouble,
      error: expect.stringContaining('400'),
    });
  });
});

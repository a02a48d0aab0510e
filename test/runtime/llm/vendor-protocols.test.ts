import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { agentConfig } from '#config/agent-config.ts';
import { readSettings } from '#config/env.ts';
import { createLanguageModel } from '#runtime/llm/create-language-model.ts';
import type { ChatDelta, ChatMessage, ChatRequest, LanguageModel } from '#runtime/llm/llm.ts';
import { collect } from '#test/collect.ts';
import { startAnthropicServer } from '#test/fakes/anthropic-server.ts';
import { startGoogleServer } from '#test/fakes/google-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { type ChatScript, callTool, say } from '#test/fakes/openai-server.ts';
import { chatRequest } from './chat-request.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close();
});

const VENDORS = [
  ['anthropic', startAnthropicServer],
  ['google', startGoogleServer],
] as const;

function request(over: Partial<ChatRequest> = {}): ChatRequest {
  return chatRequest({
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: 'It is noon.' },
      { role: 'user', content: 'hello' },
    ],
    ...over,
  });
}

const text = (deltas: readonly ChatDelta[]) =>
  deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('');

describe.each(VENDORS)('%s over its own protocol', (vendor, start) => {
  async function setUp(scripts: readonly ChatScript[], clock = systemClock as typeof systemClock) {
    const server = await start(scripts);
    const egress = createEgressGuard({ allow: [], clock });
    opened.push(server, egress);
    const settings = readSettings({
      [`${vendor.toUpperCase()}_BASE_URL`]: server.url,
      [`${vendor.toUpperCase()}_API_KEY`]: 'the-key',
    });
    const config = agentConfig.parse({ llm: { model: `${vendor}/m` } });
    const model: LanguageModel = createLanguageModel({
      settings,
      plan: { config, llm_api_key: null, local_models: [] },
      egress,
      clock,
      logger,
    });
    return { server, model };
  }

  const booking: ChatMessage[] = [
    { role: 'user', content: 'book it' },
    {
      role: 'assistant',
      content: 'One moment.',
      toolCalls: [{ callId: 'c1', toolName: 'book', input: '{"day":"friday"}' }],
    },
    { role: 'tool', callId: 'c1', toolName: 'book', content: 'booked' },
  ];
  const tools = [
    { name: 'book', description: 'Books a table', arguments: [{ name: 'day', description: 'which day' }] },
  ];

  it('streams text in order and ends with the usage, cached tokens listed separately', async () => {
    const { model } = await setUp([say('Good morning to you.')]);
    const deltas = await collect(model.stream(request()));
    expect(deltas.filter((delta) => delta.type === 'text').map((delta) => delta.text)).toEqual([
      'Good ',
      'morning ',
      'to ',
      'you.',
    ]);
    expect(deltas.at(-1)).toMatchObject({
      type: 'finish',
      usage: { inputTokens: vendor === 'anthropic' ? 20 : 12, outputTokens: 4, cachedInputTokens: 8 },
    });
  });

  it('yields a tool call with its arguments, after the words before it', async () => {
    const { model, server } = await setUp([callTool('book', { day: 'friday' }, 'One moment. ')]);
    const deltas = await collect(model.stream(request({ tools })));
    expect(text(deltas)).toBe('One moment. ');
    expect(deltas.find((delta) => delta.type === 'tool_call')?.call).toMatchObject({
      toolName: 'book',
      input: '{"day":"friday"}',
    });
    expect(JSON.stringify(server.requests[0]?.json['tools'])).toContain('Books a table');
  });

  it('receives its own calls and their results in its own format', async () => {
    const { model, server } = await setUp([say('Done.')]);
    expect(text(await collect(model.stream(request({ tools, messages: booking }))))).toBe('Done.');
    const asked = JSON.stringify(server.requests[0]?.json);
    expect(asked).toContain('friday');
    expect(asked).toContain('booked');
  });

  it('starts a conversation begun by the agent with a user message, as the vendor requires', async () => {
    const { model, server } = await setUp([say('Fine.')]);
    const messages: ChatMessage[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'assistant', content: 'Hello!' },
      { role: 'user', content: 'hi' },
    ];
    expect(text(await collect(model.stream(request({ messages }))))).toBe('Fine.');
    const sent = (server.requests[0]?.json['messages'] ?? server.requests[0]?.json['contents']) as {
      role: string;
    }[];
    expect(sent.map(({ role }) => role)).toEqual([
      'user',
      vendor === 'anthropic' ? 'assistant' : 'model',
      'user',
    ]);
  });

  it.each([
    [429, true],
    [401, false],
    [400, false],
  ])('HTTP %i is a model error, retryable: %s', async (status, retryable) => {
    const { model, server } = await setUp([say('never')]);
    server.fault = {
      status,
      body: {
        type: 'error',
        error: { type: 'scripted', message: 'scripted', code: status, status: 'SCRIPTED' },
      },
    };
    await expect(collect(model.stream(request()))).rejects.toMatchObject({
      name: 'ModelError',
      status,
      retryable,
    });
  });

  it.each([{ event: 'overloaded' }, { cut: 'body' }] as const)(
    'an answer interrupted by %j is a retryable error after the received words',
    async (fault) => {
      const { model, server } = await setUp([say('One two three.')]);
      server.fault = fault;
      const seen: ChatDelta[] = [];
      const run = async () => {
        for await (const delta of model.stream(request())) seen.push(delta);
      };
      await expect(run()).rejects.toMatchObject({ name: 'ModelError', retryable: true });
      expect(text(seen)).toBe('One ');
    },
  );

  it('a stall between chunks ends after ten seconds, and leaves no timer', async () => {
    const clock = new ManualClock();
    const { model, server } = await setUp([say('One two three.')], clock);
    server.fault = { halfOpen: 'body' };
    const seen: ChatDelta[] = [];
    const run = async () => {
      for await (const delta of model.stream(request())) seen.push(delta);
    };
    const failed = run().catch((error: unknown) => error);
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(1);
    await clock.advance(9_900);
    await clock.advance(200);
    expect(await failed).toMatchObject({
      name: 'ModelError',
      retryable: true,
      message: 'The model sent nothing for 10 s',
    });
    expect(clock.pendingTimers).toBe(0);
  });
});

it('anthropic caches only the stable part of the prompt', async () => {
  const server = await startAnthropicServer([say('OK.')]);
  const egress = createEgressGuard({ allow: [], clock: systemClock });
  opened.push(server, egress);
  const settings = readSettings({ ANTHROPIC_BASE_URL: server.url });
  const config = agentConfig.parse({ llm: { model: 'anthropic/m' } });
  await collect(
    createLanguageModel({
      settings,
      plan: { config, llm_api_key: null, local_models: [] },
      egress,
      clock: systemClock,
      logger,
    }).stream(request()),
  );
  expect(server.requests[0]?.json['system']).toEqual([
    { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
    { type: 'text', text: 'It is noon.' },
  ]);
});

import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { agentConfig } from '#config/agent-config.ts';
import { readSettings } from '#config/env.ts';
import { createLanguageModel } from '#runtime/llm/create-language-model.ts';
import { type ChatDelta, type ChatRequest, type LanguageModel, ModelError } from '#runtime/llm/llm.ts';
import { collect } from '#test/collect.ts';
import { listenLocally } from '#test/fakes/local-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import {
  callTool,
  type OpenaiServer,
  type OpenaiServerOptions,
  say,
  startOpenaiServer,
} from '#test/fakes/openai-server.ts';
import { chatRequest } from './chat-request.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close();
});

async function vendor(options: OpenaiServerOptions = {}): Promise<OpenaiServer> {
  const server = await startOpenaiServer(options);
  opened.push(server);
  return server;
}

function request(over: Partial<ChatRequest> = {}): ChatRequest {
  return chatRequest({
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hello' },
    ],
    ...over,
  });
}

async function ask(model: LanguageModel, over: Partial<ChatRequest> = {}): Promise<ChatDelta[]> {
  return collect(model.stream(request(over)));
}

const text = (deltas: readonly ChatDelta[]) =>
  deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('');

function vendorModel(url: string, clock = systemClock) {
  const settings = readSettings({ OPENAI_BASE_URL: url });
  const config = agentConfig.parse({ llm: { model: 'openai/test-model' } });
  return createLanguageModel({
    settings,
    plan: { config, llm_api_key: null, local_models: [] },
    egress: guard([]),
    clock,
    logger,
  });
}

function guard(allow: readonly string[]) {
  const egress = createEgressGuard({ allow, clock: systemClock });
  opened.push(egress);
  return egress;
}

function customModel(
  url: string,
  { allow = ['127.0.0.1'], clock = systemClock as typeof systemClock, key = 'secret-key' } = {},
) {
  const config = agentConfig.parse({ llm: { custom: { base_url: url, model: 'mine' } } });
  return createLanguageModel({
    settings: readSettings({}),
    plan: { config, llm_api_key: key, local_models: [] },
    egress: guard(allow),
    clock,
    logger,
  });
}

describe('a vendor behind an OpenAI-compatible address', () => {
  it('streams text in order and ends with the usage', async () => {
    const server = await vendor({ chat: [say('Good morning to you.')] });
    const deltas = await ask(vendorModel(server.url));
    expect(deltas.filter((delta) => delta.type === 'text').map((delta) => delta.text)).toEqual([
      'Good ',
      'morning ',
      'to ',
      'you.',
    ]);
    expect(deltas.at(-1)).toEqual({
      type: 'finish',
      usage: { inputTokens: 10, outputTokens: 4, cachedInputTokens: 0 },
      finishReason: 'stop',
    });
    expect(server.requests[0]?.json).toMatchObject({ model: 'test-model', stream: true });
  });

  it.each([
    ['more tools than an answer may', Array.from({ length: 65 }, () => ({ name: 'book', arguments: '{}' }))],
    [
      'arguments longer than they may be',
      [
        { name: 'book', arguments: `{"day":"${'x'.repeat(33_000)}"}` },
        { name: 'book', arguments: `{"day":"${'x'.repeat(33_000)}"}` },
      ],
    ],
  ])('fails for good with %s', async (_, toolCalls) => {
    const server = await vendor({ chat: [{ pieces: [], toolCalls }] });
    const failure = await ask(vendorModel(server.url)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelError);
    expect(failure).toMatchObject({
      message: 'The model’s tool calls are above the limit',
      retryable: false,
    });
  });

  it('fails permanently when one event exceeds the maximum length', async () => {
    const server = await vendor({ chat: [{ pieces: ['Hello. ', 'x'.repeat(70_000)], toolCalls: [] }] });
    const failure = await ask(vendorModel(server.url)).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      message: 'The model’s answer is above the limit',
      retryable: false,
    });
  });

  it('offers tools as functions and yields the call with its arguments as JSON', async () => {
    const server = await vendor({ chat: [callTool('book', { day: 'friday' }, 'One moment. ')] });
    const tools = [
      { name: 'book', description: 'Books a table', arguments: [{ name: 'day', description: 'which day' }] },
    ];
    const deltas = await ask(vendorModel(server.url), { tools });
    expect(text(deltas)).toBe('One moment. ');
    const call = deltas.find((delta) => delta.type === 'tool_call')?.call;
    expect(call).toMatchObject({ toolName: 'book', input: '{"day":"friday"}' });
    expect(deltas.at(-1)).toMatchObject({ finishReason: 'tool_call' });
    expect(server.requests[0]?.json?.['tools']).toMatchObject([
      {
        type: 'function',
        function: { name: 'book', parameters: { properties: { day: { type: 'string' } } } },
      },
    ]);
  });

  it('shows the model its own tool calls and their results', async () => {
    const server = await vendor();
    await ask(vendorModel(server.url), {
      messages: [
        { role: 'user', content: 'book it' },
        {
          role: 'assistant',
          content: '',
          toolCalls: [{ callId: 'c1', toolName: 'book', input: '{"day":"friday"}' }],
        },
        { role: 'tool', callId: 'c1', toolName: 'book', content: 'booked' },
      ],
    });
    expect(server.requests[0]?.json?.['messages']).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'c1', function: { name: 'book', arguments: '{"day":"friday"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'booked' },
    ]);
  });

  it.each([
    [401, false],
    [429, true],
    [500, true],
  ])('HTTP %i is a model error that is retryable: %s', async (status, retryable) => {
    const server = await vendor();
    server.fault = { status };
    const error = await ask(vendorModel(server.url)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject({ status, retryable });
    expect(server.requests).toHaveLength(1);
  });

  it('follows a redirect', async () => {
    const server = await vendor({ chat: [say('Still here.')] });
    const moved = createServer((incoming, response) =>
      response.writeHead(307, { location: `${server.url}${incoming.url?.replace('/v1', '')}` }).end(),
    );
    const before = await listenLocally(moved);
    opened.push(before);
    expect(text(await ask(vendorModel(`http://127.0.0.1:${before.port}/v1`)))).toBe('Still here.');
  });

  it('reports a connection cut in mid-answer as a retryable model error after the received text', async () => {
    const server = await vendor({ chat: [say('One two three.')] });
    server.fault = { cut: 'body' };
    const seen: ChatDelta[] = [];
    const run = async () => {
      for await (const delta of vendorModel(server.url).stream(request())) seen.push(delta);
    };
    await expect(run()).rejects.toMatchObject({ name: 'ModelError', retryable: true });
    expect(text(seen)).toBe('One ');
  });

  it('ends the stream with the abort reason and closes the request', async () => {
    const server = await vendor({ chat: [say('One two three.')] });
    server.fault = { halfOpen: 'body' };
    const abort = new AbortController();
    const run = async () => {
      for await (const _ of vendorModel(server.url).stream(request({ signal: abort.signal })))
        abort.abort(new Error('interrupted'));
    };
    await expect(run()).rejects.toThrow('interrupted');
    await expect.poll(() => server.requests[0]?.aborted).toBe(true);
  });
});

describe('llm.custom', () => {
  it('the request carries the key, the conversation and the data the session asked to forward', async () => {
    const server = await vendor({ apiKey: 'secret-key' });
    await ask(customModel(server.url), { endUserId: 'u1', extraBody: { tier: 2 } });
    expect(server.requests[0]?.path).toBe('/v1/chat/completions');
    expect(server.requests[0]?.json).toMatchObject({
      model: 'mine',
      stream: true,
      session_id: 's1',
      user_id: 'u1',
      service_extra_body: { tier: 2 },
    });
  });

  it('user_id is omitted when there is none, and the speculative header once the turn is certain', async () => {
    const server = await vendor();
    await ask(customModel(server.url));
    await ask(customModel(server.url), { speculative: true });
    expect(server.requests[0]?.json).not.toHaveProperty('user_id');
    expect(server.requests.map((seen) => seen.headers['x-service-speculative'])).toEqual([undefined, 'true']);
  });

  it('a base address that already ends in the route is accepted', async () => {
    const server = await vendor();
    await ask(customModel(`${server.url}/chat/completions`));
    expect(server.requests[0]?.path).toBe('/v1/chat/completions');
  });

  it('a private address is rejected unless the deployment allows it', async () => {
    const server = await vendor();
    await expect(ask(customModel(server.url, { allow: [] }))).rejects.toBeInstanceOf(ModelError);
    expect(server.requests).toHaveLength(0);
  });

  it.each(['headers', 'body'] as const)(
    'an endpoint that stalls before its %s fails after ten seconds',
    async (place) => {
      const server = await vendor({ chat: [say('One two three.')] });
      server.fault = { halfOpen: place };
      const clock = new ManualClock();
      const seen: ChatDelta[] = [];
      const run = async () => {
        for await (const delta of customModel(server.url, { clock }).stream(request())) seen.push(delta);
      };
      const failed = run().catch((error: unknown) => error);
      await expect.poll(() => (place === 'headers' ? server.requests.length : seen.length)).toBe(1);
      await clock.advance(9_900);
      await clock.advance(200);
      expect(await failed).toMatchObject({
        name: 'ModelError',
        retryable: true,
        message: 'The model sent nothing for 10 s',
      });
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('errors contain no secret', async () => {
    const server = await vendor({ apiKey: 'another-key' });
    const error = (await ask(customModel(server.url)).catch((thrown: unknown) => thrown)) as ModelError;
    expect(`${error.message} ${error.stack}`).not.toContain('secret-key');
  });
});

it.each([
  ['ANTHROPIC', 'anthropic/m', '/v1/messages', 'x-api-key'],
  ['GOOGLE', 'google/m', '/v1beta/models/m:streamGenerateContent?alt=sse', 'x-goog-api-key'],
  ['GROQ', 'groq/m', '/openai/v1/chat/completions', 'authorization'],
])(
  '"Providers" the base address of %s has no path, and its key goes where the vendor requires it',
  async (vendorName, id, path, header) => {
    const server = await vendor();
    const settings = readSettings({
      [`${vendorName}_BASE_URL`]: server.url.replace(/\/v1$/, ''),
      [`${vendorName}_API_KEY`]: 'the-key',
    });
    const config = agentConfig.parse({ llm: { model: id } });
    const model = createLanguageModel({
      settings,
      plan: { config, llm_api_key: null, local_models: [] },
      egress: guard([]),
      clock: systemClock,
      logger,
    });
    const refused = ask(model, { messages: [{ role: 'assistant', content: 'Hello!' }] });
    if (vendorName === 'GROQ') await refused;
    else await expect(refused).rejects.toMatchObject({ name: 'ModelError', status: 404, retryable: false });
    expect(server.requests[0]?.path).toBe(path);
    expect(String(server.requests[0]?.headers[header])).toContain('the-key');
    expect(model.id).toBe(id);
  },
);

it('a vendor that is not configured is replaced by the default model', () => {
  const config = agentConfig.parse({ llm: { model: 'groq/gone' } });
  const model = createLanguageModel({
    settings: readSettings({}),
    plan: { config, llm_api_key: null, local_models: [] },
    egress: guard([]),
    clock: systemClock,
    logger,
  });
  expect(model.id).toBe('local/demo');
});

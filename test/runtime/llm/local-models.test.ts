import { existsSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { agentConfig } from '#config/agent-config.ts';
import { readSettings } from '#config/env.ts';
import { type LocalModel, type LocalModels, localModel } from '#config/local-models.ts';
import { createLanguageModel } from '#runtime/llm/create-language-model.ts';
import type { ChatRequest } from '#runtime/llm/llm.ts';
import { collect } from '#test/collect.ts';
import {
  ANSWER_TOKENS,
  type LocalLlmOptions,
  type LocalLlmServer,
  startLlamaCpp,
  startLmStudio,
  startOllama,
  startVllm,
} from '#test/fakes/local-llm-servers.ts';
import { listenLocally } from '#test/fakes/local-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { chatRequest } from './chat-request.ts';
import { openLocalSearches } from './local-searches.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const { file: searchFile, keep, search } = openLocalSearches();

/** A program of unknown intent on a usual port. */
async function stranger(answer: RequestListener): Promise<string> {
  const { port } = await keep(listenLocally(createServer(answer)));
  return `http://127.0.0.1:${port}`;
}

/** The only model, once it has been tried. */
async function tried(models: LocalModels): Promise<LocalModel> {
  await expect.poll(() => models.offered()[0]?.tools ?? null).not.toBeNull();
  const [model] = models.offered();
  if (!model) throw new Error('the model is gone');
  return model;
}

function modelOf(local_models: LocalModel[], id: string, environment: Record<string, string> = {}) {
  return createLanguageModel({
    settings: readSettings(environment),
    plan: { config: agentConfig.parse({ llm: { model: id } }), llm_api_key: null, local_models },
    egress: createEgressGuard({ allow: [], clock: systemClock }),
    clock: systemClock,
    logger,
  });
}

/** Requests that reached the model; the search adds others at any time. */
const chatsOf = ({ requests }: Pick<LocalLlmServer, 'requests'>) =>
  requests.filter(({ path }) => path.endsWith('/chat/completions'));

const ask = (model: ReturnType<typeof modelOf>, over: Partial<ChatRequest> = {}) =>
  collect(model.stream(chatRequest({ messages: [{ role: 'user', content: 'hello' }], ...over })));

describe('the search for local language models', () => {
  it.each<[string, (options: LocalLlmOptions) => Promise<LocalLlmServer>, string, number]>([
    ['Ollama', startOllama, 'local/llama3.2', 4_096],
    ['llama.cpp', startLlamaCpp, 'local/qwen2.5-3b-instruct-q4_k_m', 8_192],
    ['LM Studio', startLmStudio, 'local/qwen/qwen3-4b-2507', 16_384],
    ['vLLM', startVllm, 'local/meta-llama/Llama-3.1-8B-Instruct', 32_768],
  ])('finds a model of %s with its context, and tries its tools and speed', async (_, start, id, context) => {
    const clock = new ManualClock();
    const server = await keep(start({ isLoaded: true, onChat: () => void clock.advance(500) }));
    const models = await search([server.address], clock);
    expect(models.offered()).toEqual([
      {
        id,
        base_url: server.url,
        name: expect.any(String),
        context_tokens: context,
        tools: null,
        tokens_per_second: null,
      },
    ]);
    expect(await tried(models)).toMatchObject({
      tools: 'called',
      tokens_per_second: Math.round((ANSWER_TOKENS / 0.5) * 10) / 10,
    });
  });

  it.each(['not_called', 'refused'] as const)('notices that a tool was %s', async (tools) => {
    const server = await keep(startVllm({ tools }));
    expect((await tried(await search([server.address]))).tools).toBe(tools);
  });

  it.each([0, -1, 1, 1e308])(
    'keeps no speed that no model has, such as that of %d tokens in half a minute',
    async (outputTokens) => {
      const clock = new ManualClock();
      const onChat = () => void clock.advance(30_000);
      const server = await keep(startVllm({ outputTokens, onChat }));
      const model = await tried(await search([server.address], clock));
      expect(model.tokens_per_second).toBeNull();
      expect(localModel.safeParse(model).success).toBe(true);
    },
  );

  it('does not load a model into the memory of Ollama until an agent is given it', async () => {
    const server = await keep(startOllama());
    const models = await search([server.address]);
    expect(models.offered().map(({ id }) => id)).toEqual(['local/llama3.2']);
    expect(chatsOf(server)).toEqual([]);
    models.want('local/llama3.2');
    expect(await tried(models)).toMatchObject({ tools: 'called' });
    // Its context is known once it is loaded.
    await expect.poll(() => models.offered()[0]?.context_tokens).toBe(4_096);
  });

  it.each([
    ['a proxy that may pay a vendor', [{ id: 'gpt-x', owned_by: 'openai' }]],
    ['a server that loads what it is asked for', [{ id: 'a', owned_by: 'llamacpp' }, { id: 'b' }]],
  ])('asks nothing of the models of %s until an agent is given one', async (_, data) => {
    const documents = { '/v1/models': { object: 'list', data } };
    const server = await keep(startOpenaiServer({ documents, chat: [say('The sea is wide.')] }));
    const other = await keep(startVllm());
    const models = await search([server.url.replace(/\/v1$/, ''), other.address]);
    const toolsOf = (index: number) => models.offered()[index]?.tools ?? null;
    // Trials run one after another, in the order of the list.
    await expect.poll(() => toolsOf(data.length)).toBe('called');
    expect(chatsOf(server)).toEqual([]);
    models.want(models.offered()[0]?.id ?? '');
    await expect.poll(() => toolsOf(0)).toBe('not_called');
  });

  it('tries a model once and keeps the result between starts', async () => {
    const [server, other] = [await keep(startVllm()), await keep(startOllama())];
    const first = await search([server.address]);
    const model = await tried(first);
    await first.close();
    const before = chatsOf(server).length;
    expect(before).toBeGreaterThan(0);
    const second = await search([server.address, other.address]);
    expect(second.offered()[0]).toEqual(model);
    second.want(model.id);
    second.want('local/llama3.2');
    // Trials run one after another: one of the first model would come before that of the second.
    await expect.poll(() => second.offered()[1]?.tools).toBe('called');
    expect(chatsOf(server)).toHaveLength(before);
  });

  it('tries a model that failed again only when an agent is given it', async () => {
    const server = await keep(startVllm());
    server.fault = { path: '/chat/completions', status: 500 };
    const clock = new ManualClock();
    const models = await search([server.address], clock);
    const chats = () => chatsOf(server).length;
    await expect.poll(chats).toBe(1);
    server.fault = null;
    for (const _ of ['first', 'second']) {
      await clock.advance(10_000);
      await models.search();
    }
    expect(chats()).toBe(1);
    expect(models.offered()[0]?.tools).toBeNull();
    models.want('local/meta-llama/Llama-3.1-8B-Instruct');
    expect((await tried(models)).tools).toBe('called');
  });

  it('does not take a busy server for one that refuses tools', async () => {
    const server = await keep(startVllm({ tools: 'busy' }));
    const models = await search([server.address]);
    await expect.poll(() => chatsOf(server).length).toBe(3);
    await models.close();
    expect(models.known()).toMatchObject([{ tools: null, tokens_per_second: null }]);
  });

  it('gives a trial three minutes, even if the server always sends a little more', async () => {
    const id = 'm';
    let [answers, sent] = [0, 0];
    const piece = JSON.stringify({ id, choices: [{ index: 0, delta: { content: 'wave ' } }] });
    const address = await stranger((request, response) => {
      if (request.method === 'GET')
        return void response.end(JSON.stringify({ data: [{ id, max_model_len: 4_096 }] }));
      answers += 1;
      const endless = setInterval(() => {
        response.write(`data: ${piece}\n\n`);
        sent += 1;
      }, 1);
      response.on('close', () => {
        clearInterval(endless);
        answers -= 1;
      });
    });
    const clock = new ManualClock();
    await search([address], clock);
    for (const ms of [60_000, 60_000, 59_999]) {
      const before = sent;
      await expect.poll(() => sent - before).toBeGreaterThan(10);
      await clock.advance(ms);
    }
    const before = sent;
    await expect.poll(() => sent - before).toBeGreaterThan(10);
    expect(answers).toBe(1);
    await clock.advance(1);
    await expect.poll(() => answers).toBe(0);
  });

  it('notices after a minute that a server has come or gone', async () => {
    const clock = new ManualClock();
    const server = await keep(startVllm());
    const models = await search([server.address], clock);
    const { id } = await tried(models);
    await server.close();
    await clock.advance(60_000);
    await expect.poll(() => models.offered()).toEqual([]);
    // A call in between still goes to its address.
    expect(models.known().map((model) => model.id)).toEqual([id]);
  });

  it('asks at once when it is asked, but not twice within five seconds', async () => {
    const clock = new ManualClock();
    const server = await keep(startVllm());
    const models = await search([server.address], clock);
    await tried(models);
    await clock.advance(5_000);
    const lists = () => server.requests.filter(({ path }) => path === '/v1/models').length;
    const before = lists();
    await Promise.all([models.search(), models.search()]);
    await models.search();
    expect(lists()).toBe(before + 1);
  });

  it.each<[string, RequestListener]>([
    ['a web page', (_, response) => void response.end('<html>It works</html>')],
    [
      'an endless answer',
      (_, response) => void setInterval(() => response.write('x'.repeat(65_536)), 1).unref(),
    ],
    ['nothing', () => undefined],
    ['a redirect', (_, response) => void response.writeHead(302, { location: '/other' }).end()],
    ['a list of other things', (_, response) => void response.end('{"data": [{"id": 7}], "models": "none"}')],
    [
      'names that would break a line or leave the list',
      (_, response) =>
        void response.end(
          JSON.stringify({
            data: ['', 'demo', 'a\u001b[31m', '../x', 'a b', 'x'.repeat(200)].map((id) => ({ id })),
          }),
        ),
    ],
  ])('finds nothing on a port where a stranger answers with %s', async (_, answer) => {
    const models = await search(
      [await stranger(answer)],
      Object.assign(new ManualClock(), { after: systemClock.after }),
    );
    expect(models.offered()).toEqual([]);
    expect(existsSync(searchFile())).toBe(false);
  });

  it('takes at most 32 models of one server', async () => {
    const data = Array.from({ length: 5_000 }, (_, index) => ({ id: `m${index}` }));
    const models = await search([
      await stranger((_, response) => void response.end(JSON.stringify({ data }))),
    ]);
    expect(models.offered()).toHaveLength(32);
  });

  it('gives a name to the first of two servers that have it', async () => {
    const [first, second] = [await keep(startVllm()), await keep(startVllm())];
    const models = await search([first.address, second.address]);
    expect(models.offered().map(({ base_url }) => base_url)).toEqual([first.url]);
  });

  it('forgets what it kept about an address that is no longer searched', async () => {
    const server = await keep(startVllm());
    await tried(await search([server.address]));
    expect(readFileSync(searchFile(), 'utf8')).toContain(server.url);
    expect((await search([await stranger((_, response) => void response.end())])).known()).toEqual([]);
  });
});

describe('a local language model', () => {
  it('answers the agent that was given it', async () => {
    const server = await keep(startOllama({ isLoaded: true }));
    const model = await tried(await search([server.address]));
    const local = modelOf([model], model.id);
    expect(local.contextTokens).toBe(4_096);
    const deltas = await ask(local);
    expect(deltas.at(-1)).toMatchObject({ type: 'finish', usage: { outputTokens: ANSWER_TOKENS } });
    expect(chatsOf(server).at(-1)?.json).toMatchObject({ model: 'llama3.2:latest', stream: true });
  });

  it('gets one system message, then one of the caller, which every chat template takes', async () => {
    const server = await keep(startVllm());
    const model = await tried(await search([server.address]));
    await ask(modelOf([model], model.id), {
      messages: [
        { role: 'system', content: 'You are a baker.' },
        { role: 'system', content: 'It is Monday.' },
        { role: 'assistant', content: 'Hello!' },
        { role: 'user', content: 'Hi.' },
      ],
    });
    const messages = chatsOf(server).at(-1)?.json?.['messages'] as { role: string; content: string }[];
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
    expect(messages[0]?.content).toBe('You are a baker.\n\nIt is Monday.');
  });

  it('is offered no tools once its server has refused them', async () => {
    const server = await keep(startOllama({ tools: 'refused', isLoaded: true }));
    const model = await tried(await search([server.address]));
    const tools = [{ name: 'book', description: 'Books a table', arguments: [] }];
    await expect(ask(modelOf([model], model.id), { tools })).resolves.not.toEqual([]);
    expect(chatsOf(server).at(-1)?.json).not.toHaveProperty('tools');
  });

  it('is not replaced by a vendor, which would get what was meant to stay here', async () => {
    const vendor = await keep(startOpenaiServer());
    const server = await keep(startVllm());
    const model = await tried(await search([server.address]));
    await server.close();
    const keyed = { OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: vendor.url };
    await expect(ask(modelOf([model], model.id, keyed))).rejects.toMatchObject({ name: 'ModelError' });
    expect(vendor.requests).toEqual([]);
  });

  it.each<[string, string, Record<string, string>]>([
    ['as the agent’s model', 'local/gone', {}],
    ['as the default', '', { LLM_DEFAULT: 'local/gone' }],
  ])('fails %s when it is not known, and no vendor gets the conversation', async (_, id, environment) => {
    const vendor = await keep(startOpenaiServer());
    const keyed = { ...environment, OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: vendor.url };
    await expect(ask(modelOf([], id, keyed))).rejects.toMatchObject({
      name: 'ModelError',
      message: expect.stringContaining('The local model local/gone is not known'),
    });
    expect(vendor.requests).toEqual([]);
  });

  it('on a loopback is not asked by a worker on another machine than the control plane', async () => {
    const server = await keep(startVllm());
    const model = await tried(await search([server.address]));
    const chats = chatsOf(server).length;
    const askFrom = (environment: Record<string, string>) => ask(modelOf([model], model.id, environment));
    await expect(askFrom({ CONTROL_PLANE_URL: 'http://control.example.com:8080' })).rejects.toMatchObject({
      name: 'ModelError',
      message: expect.stringContaining('LOCAL_LLM_URL'),
    });
    expect(chatsOf(server)).toHaveLength(chats);
    await askFrom({ CONTROL_PLANE_URL: 'http://localhost:8080' });
    await askFrom({ CONTROL_PLANE_URL: 'https://parley.example.com', SUPERVISOR_RUN: 'a' });
    expect(chatsOf(server)).toHaveLength(chats + 2);
  });

  it('cannot send the conversation elsewhere by a redirect', async () => {
    const elsewhere = await keep(startOpenaiServer());
    const address = await stranger((_, response) =>
      response.writeHead(307, { location: `${elsewhere.url}/chat/completions` }).end(),
    );
    const figures = { context_tokens: null, tools: null, tokens_per_second: null };
    const model = { id: 'local/m', base_url: `${address}/v1`, name: 'm', ...figures };
    await expect(ask(modelOf([model], 'local/m'))).rejects.toMatchObject({ name: 'ModelError' });
    expect(elsewhere.requests).toEqual([]);
  });

  it('opens its address to nothing else: a tenant’s own model there is still refused', async () => {
    const server = await keep(startVllm());
    const model = await tried(await search([server.address]));
    const chats = chatsOf(server).length;
    const config = agentConfig.parse({ llm: { custom: { base_url: server.url, model: model.name } } });
    const tenants = createLanguageModel({
      settings: readSettings({}),
      plan: { config, llm_api_key: null, local_models: [model] },
      egress: createEgressGuard({ allow: [], clock: systemClock }),
      clock: systemClock,
      logger,
    });
    await expect(ask(tenants)).rejects.toMatchObject({ name: 'ModelError' });
    expect(chatsOf(server)).toHaveLength(chats);
  });
});

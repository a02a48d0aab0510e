import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { type LocalModel, NO_LOCAL_MODELS } from '#config/local-models.ts';
import { currentPlatformModels } from '#config/platform-models.ts';
import { buildPlan } from '#control-plane/calls/plans/build-plan.ts';
import { searchLocalModels } from '#runtime/llm/local/search-models.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { startOpenaiServer } from '#test/fakes/openai-server.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../../docs/settings.md'), 'utf8');
const LLAMA: LocalModel = {
  id: 'local/llama3.2',
  base_url: 'http://127.0.0.1:11434/v1',
  name: 'llama3.2:latest',
  context_tokens: 4_096,
  tools: 'not_called',
  tokens_per_second: 38.5,
};
const UNTRIED: LocalModel = {
  ...LLAMA,
  id: 'local/gemma3',
  name: 'gemma3:latest',
  context_tokens: null,
  tools: null,
  tokens_per_second: null,
};

let api: TestApi | undefined;
afterEach(() => api?.close());

/** The API of a deployment that has found these local models. */
async function open(
  found: readonly LocalModel[],
  environment: Record<string, string> = {},
  search: () => Promise<void> = async () => undefined,
) {
  const wanted: string[] = [];
  let searches = 0;
  const localModels = {
    ...NO_LOCAL_MODELS,
    known: () => found,
    offered: () => found,
    search: () => {
      searches += 1;
      return search();
    },
    want: (id: string) => void wanted.push(id),
  };
  const settings = readSettings(environment);
  const platform = currentPlatformModels(
    settings,
    () => ({ localRecognition: [] }),
    () => found,
  );
  api = await openTestApi(environment, { localModels, platform });
  const user = await api.createUser();
  return { api, user, wanted, searches: () => searches };
}

async function createAgent(
  { api, user, key = user.key }: { api: TestApi; user: TestUser; key?: string },
  config: object = {},
) {
  const created = await api.request('POST', '/v1/agent/agents', {
    key,
    body: { name: 'A', config },
  });
  expect(created.status).toBe(201);
  return created.body;
}

const PROMPT = { prompt: { system_prompt: 'You answer the phone of a bakery.' } };

describe('GET /v1/agent/models', () => {
  it('lists local models with what is known of them, and waits 300 ms for a search that hangs', async () => {
    const { api, user, searches } = await open([LLAMA, UNTRIED], {}, () => new Promise(() => undefined));
    const asked = api.request('GET', '/v1/agent/models', { key: user.key });
    await expect.poll(searches).toBe(1);
    await api.clock.advance(300);
    const { body } = await asked;
    expect(body.llm).toEqual([
      { id: 'local/demo', default: true },
      { id: 'local/llama3.2', default: false, context_tokens: 4_096, tools: false, tokens_per_second: 38.5 },
      { id: 'local/gemma3', default: false },
    ]);
  });

  it('lists a model that the search it starts has found', async () => {
    const found = [LLAMA];
    const { api, user } = await open(found, {}, async () => void found.push(UNTRIED));
    const { body } = await api.request('GET', '/v1/agent/models', { key: user.key });
    expect(body.llm.map(({ id }: { id: string }) => id)).toContain(UNTRIED.id);
  });

  it('lists only the local models that the operator allows', async () => {
    const { api, user } = await open([LLAMA, UNTRIED], { LLM_ALLOWED: 'local/gemma3' });
    const { body } = await api.request('GET', '/v1/agent/models', { key: user.key });
    expect(body.llm.map(({ id }: { id: string }) => id)).toEqual(['local/demo', 'local/gemma3']);
  });
});

describe('an agent', () => {
  it('does not get a local model by itself, only by LLM_DEFAULT', async () => {
    const bare = await open([LLAMA]);
    const path = `/v1/agent/agents/${(await createAgent(bare)).agent_id}/config`;
    expect((await bare.api.request('GET', path, { key: bare.user.key })).body.llm.model).toBe('local/demo');
    await bare.api.close();
    const chosen = await open([LLAMA], { LLM_DEFAULT: 'local/llama3.2' });
    const other = `/v1/agent/agents/${(await createAgent(chosen)).agent_id}/config`;
    expect((await chosen.api.request('GET', other, { key: chosen.user.key })).body.llm.model).toBe(
      'local/llama3.2',
    );
  });

  it('is given a local model by the example of docs/settings.md, and the model is tried', async () => {
    const opened = await open([LLAMA]);
    const { agent_id } = await createAgent(opened);
    const [, path, body] = /^api PATCH "(\S+)" '(\{"llm".*\})'$/m.exec(PAGE) ?? [];
    const patched = await opened.api.request('PATCH', (path ?? '').replace('$AGENT_ID', agent_id), {
      key: opened.user.key,
      raw: body ?? '',
      headers: { 'content-type': 'application/json' },
    });
    expect(patched.body.llm).toEqual({ model: 'local/llama3.2', custom: null });
    expect(opened.wanted).toEqual(['local/llama3.2']);
  });

  it('gets a local model that was installed a second ago', async () => {
    const data = [{ id: 'llama3.2:latest' }];
    const server = await startOpenaiServer({ documents: { '/v1/models': () => ({ object: 'list', data }) } });
    const folder = mkdtempSync(join(tmpdir(), 'parley-local-'));
    const clock = new ManualClock();
    const localModels = await searchLocalModels({
      addresses: [server.url.replace(/\/v1$/, '')],
      file: join(folder, 'local-models.json'),
      clock,
      logger: createLogger({ level: 'silent', name: 'test' }),
    });
    try {
      const platform = currentPlatformModels(
        readSettings({}),
        () => ({ localRecognition: [] }),
        () => localModels.offered(),
      );
      api = await openTestApi({}, { localModels, platform });
      const user = await api.createUser();
      await clock.advance(1_000);
      data.push({ id: 'gemma3:latest' });
      const { agent_id } = await createAgent({ api, user }, { llm: { model: 'local/gemma3' } });
      const { body } = await api.request('GET', `/v1/agent/agents/${agent_id}/config`, { key: user.key });
      expect(body.llm.model).toBe('local/gemma3');
    } finally {
      await localModels.close();
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('is refused a local model that was not found', async () => {
    const { api, user } = await open([LLAMA]);
    const config = { llm: { model: 'local/other' } };
    const created = await api.request('POST', '/v1/agent/agents', {
      key: user.key,
      body: { name: 'A', config },
    });
    expect(created.status).toBe(422);
  });

  it.each<{ what: string; environment?: Record<string, string>; model?: string; caller?: string }>([
    { what: 'its own local model', model: UNTRIED.id },
    { what: 'the default model', environment: { LLM_DEFAULT: UNTRIED.id } },
    { what: 'the model that plays the caller of a test', caller: UNTRIED.id },
    { what: 'no other model' },
  ])('takes the address of $what to its calls', async (uses) => {
    const { what, environment = {}, model = 'local/demo', caller = null } = uses;
    const { api } = await open([LLAMA, UNTRIED], environment);
    const agent = await api.context.models.agents.findOne().lean();
    if (!agent) throw new Error('no agent');
    const plan = buildPlan(api.context, {
      sessionId: 's',
      agent,
      version: {
        config: { ...agent.config, llm: { model, custom: null } },
        secrets: agent.secrets,
        tools: [],
      },
      knowledge: [],
      channel: 'web_voice',
      transport: { type: 'webrtc' },
      timezone: null,
      callerNumber: '',
      dialedNumber: '',
      overrides: {},
      variables: {},
      endUserId: null,
      llmExtraBody: null,
      recordAudio: null,
      toolEvents: false,
      worldContext: true,
      isPreview: false,
      simulatedUserModel: caller,
    });
    expect(plan.local_models).toEqual(what === 'no other model' ? [] : [UNTRIED]);
  });
});

describe('the record of an agent', () => {
  it.each([
    ['the operator', true, /ollama pull.*OPENAI_API_KEY/],
    ['a tenant', false, /llm\.custom.*ask the operator/],
  ])('says that the demo model reads no prompt, and what %s can do', async (_, isOperator, advice) => {
    const opened = await open([]);
    const key = isOperator ? opened.api.rootKey : opened.user.key;
    const { warnings } = await createAgent({ ...opened, key }, PROMPT);
    expect(warnings).toEqual([
      { code: 'prompt_not_read', message: expect.stringMatching(advice), offered_models: [] },
    ]);
    expect(warnings[0].message).toContain('does not read its prompt');
  });

  it('offers the models that have come since, the default of new agents first', async () => {
    const opened = await open([LLAMA, UNTRIED], { LLM_DEFAULT: 'local/gemma3' });
    const { warnings } = await createAgent(opened, { ...PROMPT, llm: { model: 'local/demo' } });
    expect(warnings).toMatchObject([{ offered_models: ['local/gemma3', 'local/llama3.2'] }]);
  });

  it.each([
    ['without a prompt', {}],
    ['with another model', { ...PROMPT, llm: { model: 'local/llama3.2' } }],
    [
      'with a model of its own',
      { ...PROMPT, llm: { custom: { base_url: 'https://models.example.com/v1', model: 'm', api_key: 'k' } } },
    ],
  ])('has no field for warnings %s', async (_, config) => {
    expect(await createAgent(await open([LLAMA]), config)).not.toHaveProperty('warnings');
  });

  it('loses the warning with the patch that sets a model; configuration and hash never show it', async () => {
    const found: LocalModel[] = [];
    const opened = await open(found);
    const { agent_id } = await createAgent(opened, PROMPT);
    const ask = async (method: 'GET' | 'PATCH', path: string, body?: object) =>
      (
        await opened.api.request(method, `/v1/agent/agents/${agent_id}${path}`, {
          key: opened.user.key,
          body,
        })
      ).body;
    const [draft, warned] = [await ask('GET', '/config'), await ask('GET', '')];
    expect(draft).not.toHaveProperty('warnings');
    found.push(LLAMA);
    expect((await ask('GET', '')).warnings).not.toEqual(warned.warnings);
    expect(await ask('GET', '/config')).toEqual(draft);
    await ask('PATCH', '/config', { llm: { model: 'local/llama3.2' } });
    expect(await ask('GET', '')).not.toHaveProperty('warnings');
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createEgressGuard, type EgressGuard } from '#base/egress.ts';
import type { LocalModel } from '#config/local-models.ts';
import { findModels } from '#runtime/llm/local/find-models.ts';
import { startOllama, startVllm } from '#test/fakes/local-llm-servers.ts';
import { listenLocally } from '#test/fakes/local-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { openLocalSearches } from './local-searches.ts';

const { file: searchFile, keep, search } = openLocalSearches();

describe('the search for local language models', () => {
  it('leaves out a cloud model of Ollama, which runs on another company’s servers', async () => {
    const models = await search([(await keep(startOllama())).address]);
    expect(models.known().map(({ name }) => name)).toEqual(['llama3.2:latest']);
  });

  it('forgets a cloud model that an earlier process kept', async () => {
    const { address } = await keep(startOllama());
    const file = searchFile();
    const cloud: LocalModel = {
      id: 'local/gpt-oss:120b-cloud',
      base_url: `${address}/v1`,
      name: 'gpt-oss:120b-cloud',
      context_tokens: null,
      tools: 'called',
      tokens_per_second: 100,
    };
    const removed = { ...cloud, id: 'local/gemma3', name: 'gemma3:latest' };
    writeFileSync(file, JSON.stringify([cloud, removed]));
    const models = await search([address]);
    const names = ['gemma3:latest', 'llama3.2:latest'];
    expect(models.known().map(({ name }) => name)).toEqual(names);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject(names.map((name) => ({ name })));
  });

  it('leaves out a cloud model while Ollama answers with its OpenAI list only', async () => {
    const data = ['llama3.2:latest', 'gpt-oss:120b-cloud', 'glm-4.6:cloud'].map((id) => ({ id }));
    const server = createServer(({ url }, response) => {
      if (url === '/api/tags') return;
      response.writeHead(url === '/v1/models' ? 200 : 404).end(JSON.stringify({ object: 'list', data }));
    });
    const host = `127.0.0.1:${(await keep(listenLocally(server))).port}`;
    const clock = new ManualClock();
    const guard = await keep(Promise.resolve(createEgressGuard({ allow: [host], clock })));
    const request: EgressGuard['request'] = async (url, bounds) => {
      const answer = await guard.request(url, bounds);
      if (url.endsWith('/v1/models')) void clock.advance(500);
      return answer;
    };
    const found = await findModels(`http://${host}`, { guard: { request }, timeoutMs: 500 });
    expect(found?.models.map(({ id }) => id)).toEqual(['local/llama3.2']);
  });

  it('asks anew within five seconds if a model may be new, for all that wait once a second', async () => {
    const clock = new ManualClock();
    const server = await keep(startOllama());
    const models = await search([server.address], clock);
    const lists = () => server.requests.filter(({ path }) => path === '/v1/models').length;
    const before = lists();
    await clock.advance(999);
    const asked = Promise.all([models.searchAnew(), models.searchAnew()]);
    await clock.advance(0);
    expect(lists()).toBe(before);
    await clock.advance(1);
    await asked;
    expect(lists()).toBe(before + 1);
  });

  it('knows at which addresses no server lists its models', async () => {
    const server = await keep(startVllm());
    const page = await keep(listenLocally(createServer((_, response) => void response.end('<html>'))));
    const other = `http://127.0.0.1:${page.port}`;
    const clock = new ManualClock();
    const models = await search([server.address, other], clock);
    expect(models.unanswered()).toEqual([other]);
    await server.close();
    await clock.advance(60_000);
    await expect.poll(() => models.unanswered()).toEqual([server.address, other]);
  });
});

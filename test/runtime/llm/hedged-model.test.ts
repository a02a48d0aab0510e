import { afterEach, describe, expect, it } from 'vitest';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { Meters } from '#base/meters.ts';
import { agentConfig } from '#config/agent-config.ts';
import { readSettings } from '#config/env.ts';
import { createVendorMeters } from '#config/vendor-meters.ts';
import { createLanguageModel } from '#runtime/llm/create-language-model.ts';
import type { ChatDelta, LanguageModel } from '#runtime/llm/llm.ts';
import { collect } from '#test/collect.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { sampleOf } from '#test/fakes/metric-sample.ts';
import { type OpenaiServer, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { chatRequest } from './chat-request.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close();
});

const POLL = { timeout: 20_000 };
const request = chatRequest();
const text = (deltas: readonly ChatDelta[]) =>
  deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join('');

/** An agent on an OpenAI model in a deployment that also has a key for Groq if `groq` is set. */
async function setUp({ groq: hasGroq = true, custom = false } = {}) {
  const clock = new ManualClock();
  const meters = new Meters();
  const openai = await startOpenaiServer({ chat: [say('From the first.')] });
  const groq = await startOpenaiServer({ chat: [say('From the second.')] });
  const egress = createEgressGuard({ allow: ['127.0.0.1'], clock });
  opened.push(openai, groq, egress);
  const settings = readSettings({
    OPENAI_BASE_URL: openai.url,
    ...(hasGroq ? { GROQ_BASE_URL: groq.url.replace(/\/v1$/, ''), GROQ_API_KEY: 'key' } : {}),
  });
  const llm = custom ? { custom: { base_url: openai.url, model: 'mine' } } : { model: 'openai/m' };
  const model = createLanguageModel({
    settings,
    plan: { config: agentConfig.parse({ llm }), llm_api_key: 'key', local_models: [] },
    egress,
    clock,
    logger,
    vendors: createVendorMeters(meters),
  });
  return { clock, openai, groq, model, meters };
}

async function isAsked(server: OpenaiServer, times = 1): Promise<void> {
  await expect.poll(() => server.requests.length, POLL).toBe(times);
}

const ask = (model: LanguageModel) => collect(model.stream(request));

it('requests are counted by vendor and outcome, with the time to the first token and the failover', async () => {
  const { clock, openai, model, meters } = await setUp();
  openai.fault = { halfOpen: 'headers' };
  const answer = ask(model);
  await isAsked(openai);
  await clock.advance(2_000);
  await answer;
  const labelled = (vendor: string) => `service="model",vendor="${vendor}"`;
  await expect
    .poll(() => sampleOf(meters, `parley_vendor_requests_total{${labelled('openai')},outcome="abandoned"}`))
    .toBe(1);
  expect(await sampleOf(meters, `parley_vendor_requests_total{${labelled('groq')},outcome="ok"}`)).toBe(1);
  expect(await sampleOf(meters, `parley_vendor_first_byte_seconds_count{${labelled('groq')}}`)).toBe(1);
  expect(await sampleOf(meters, `parley_vendor_failovers_total{${labelled('openai')}}`)).toBe(1);
});

it('requests given up because neither vendor began to answer are counted as stalled, not abandoned', async () => {
  const { clock, openai, groq, model, meters } = await setUp();
  openai.fault = { halfOpen: 'headers' };
  groq.fault = { halfOpen: 'headers' };
  const failed = ask(model).catch((error: unknown) => error);
  await isAsked(openai);
  await clock.advance(2_000);
  await isAsked(groq);
  await clock.advance(5_000);
  expect(await failed).toMatchObject({ name: 'ModelError' });
  const requests = (vendor: string, outcome: string) =>
    sampleOf(meters, `parley_vendor_requests_total{service="model",vendor="${vendor}",outcome="${outcome}"}`);
  for (const vendor of ['openai', 'groq']) {
    await expect.poll(() => requests(vendor, 'stalled'), POLL).toBe(1);
    expect((await requests(vendor, 'abandoned')) ?? 0).toBe(0);
  }
});

it('a tenant’s own model is `custom`, and its failure is counted by kind', async () => {
  const { openai, model, meters } = await setUp({ custom: true });
  openai.fault = { status: 401 };
  await ask(model).catch(() => undefined);
  const series = 'parley_vendor_requests_total{service="model",vendor="custom",outcome="authentication"}';
  expect(await sampleOf(meters, series)).toBe(1);
});

describe('a model that has not started to answer after two seconds', () => {
  it('is backed up by another vendor, and its own request is aborted', async () => {
    const { clock, openai, groq, model } = await setUp();
    openai.fault = { halfOpen: 'headers' };
    const answer = ask(model);
    await isAsked(openai);
    await clock.advance(1_999);
    expect(groq.requests).toHaveLength(0);
    await clock.advance(1);
    const deltas = await answer;
    expect(text(deltas)).toBe('From the second.');
    expect(deltas.at(-1)).toMatchObject({ type: 'finish', modelId: 'groq/llama-3.3-70b-versatile' });
    await expect.poll(() => openai.requests[0]?.aborted, POLL).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is asked again itself when there is no other vendor', async () => {
    const { clock, openai, model } = await setUp({ groq: false });
    openai.fault = { halfOpen: 'headers' };
    const answer = ask(model);
    await isAsked(openai);
    openai.fault = null;
    await clock.advance(2_000);
    const deltas = await answer;
    expect(text(deltas)).toBe('From the first.');
    expect(deltas.at(-1)).not.toHaveProperty('modelId');
    expect(openai.requests).toHaveLength(2);
  });

  it('is given up after seven seconds if neither starts; after two requests it is not asked again', async () => {
    const { clock, openai, groq, model } = await setUp();
    openai.fault = { halfOpen: 'headers' };
    groq.fault = { halfOpen: 'headers' };
    const failed = ask(model).catch((error: unknown) => error);
    await isAsked(openai);
    await clock.advance(2_000);
    await isAsked(groq);
    await clock.advance(5_000);
    expect(await failed).toMatchObject({ name: 'ModelError', retryable: false });
    await expect
      .poll(() => [...openai.requests, ...groq.requests].map(({ aborted }) => aborted), POLL)
      .toEqual([true, true]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is awaited if custom: no second attempt, never another model', async () => {
    const { clock, openai, groq, model } = await setUp({ custom: true });
    openai.fault = { halfOpen: 'headers' };
    const failed = ask(model).catch((error: unknown) => error);
    await isAsked(openai);
    await clock.advance(9_999);
    await clock.advance(1);
    expect(await failed).toMatchObject({ name: 'ModelError', retryable: true });
    expect([openai.requests.length, groq.requests.length]).toEqual([1, 0]);
  });
});

describe('a model that fails before it starts to answer', () => {
  it('is replaced at once, and asked second from then on', async () => {
    const { openai, groq, model } = await setUp();
    openai.fault = { status: 500 };
    expect(text(await ask(model))).toBe('From the second.');
    expect(text(await ask(model))).toBe('From the second.');
    expect([openai.requests.length, groq.requests.length]).toEqual([1, 2]);
  });

  it('is not retried here when there is no other vendor: the turn loop retries', async () => {
    const { openai, model, clock } = await setUp({ groq: false });
    openai.fault = { status: 500 };
    await expect(ask(model)).rejects.toMatchObject({ name: 'ModelError', status: 500 });
    expect(openai.requests).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('reports its own error when the second vendor fails too', async () => {
    const { openai, groq, model } = await setUp();
    openai.fault = { status: 503 };
    groq.fault = { status: 401 };
    await expect(ask(model)).rejects.toMatchObject({ status: 503, retryable: true });
  });

  it('is not replaced once words were received', async () => {
    const { openai, groq, model } = await setUp();
    openai.fault = { cut: 'body' };
    await expect(ask(model)).rejects.toMatchObject({ name: 'ModelError' });
    expect(groq.requests).toHaveLength(0);
  });
});

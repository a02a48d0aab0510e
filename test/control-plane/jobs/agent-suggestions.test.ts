import { afterEach, describe, expect, it } from 'vitest';
import type { SuggestionOutcome } from '#protocol/agent-suggestion.ts';
import { openTestCalls, type TestCalls } from '../test-calls.ts';

const SUGGESTION = {
  name: 'Salon',
  system_prompt: 'You take bookings.',
  first_message: 'Hello!',
  tests: [{ name: 'Price', caller_says: 'What does it cost?', expectation: 'Names a price' }],
};
const MADE: SuggestionOutcome = { suggestion: SUGGESTION, error: null, cost_micros: 400_000 };
const MODEL = { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1', LLM_DEFAULT: 'openai/test-model' };

let calls: TestCalls;
afterEach(() => calls.close());

const suggest = (key: string, body: object = { description: 'A hairdressing salon' }) =>
  calls.request('POST', '/v1/agent/agent-suggestions', { key, body });

describe('the suggestion of an agent', () => {
  it('comes from the default model of the deployment, and stores nothing', async () => {
    calls = await openTestCalls(MODEL);
    calls.dispatch.suggestion = MADE;
    const { key } = await calls.createUser();
    const { status, body } = await suggest(key, { description: '  A hairdressing salon ' });
    expect([status, body]).toEqual([200, { ...SUGGESTION, model: 'openai/test-model' }]);
    expect(calls.dispatch.suggestionRequests).toEqual([
      { description: 'A hairdressing salon', model: 'openai/test-model', local_models: [] },
    ]);
    expect((await calls.request('GET', '/v1/agent/agents', { key })).body.agents).toEqual([]);
    expect((await calls.request('GET', '/v1/agent/audit-log', { key })).text).not.toContain('suggestion');
  });

  it('is refused without a language model, with how to get one', async () => {
    calls = await openTestCalls();
    const { key } = await calls.createUser();
    const { status, body } = await suggest(key);
    expect([status, body.reason]).toEqual([409, 'no_language_model']);
    expect(body.message).toContain('ollama pull');
    expect(calls.dispatch.suggestionRequests).toEqual([]);
  });

  it('that fails says why, and its price counts to the daily limit', async () => {
    calls = await openTestCalls({ ...MODEL, LIMIT_TEST_SPENDING: '0.50' });
    calls.dispatch.suggestion = { suggestion: null, error: 'the server is down', cost_micros: 300_000 };
    const { key } = await calls.createUser();
    const failed = await suggest(key);
    expect([failed.status, failed.body.reason]).toEqual([502, 'suggestion_failed']);
    expect(failed.body.message).toContain('the server is down');
    calls.dispatch.suggestion = MADE;
    expect((await suggest(key)).status).toBe(200);
    const refused = await suggest(key);
    expect([refused.status, refused.body.reason]).toEqual([429, 'test_spending_reached']);
  });

  it('can be asked for ten times a minute', async () => {
    calls = await openTestCalls(MODEL);
    calls.dispatch.suggestion = { ...MADE, cost_micros: 0 };
    const { key } = await calls.createUser();
    for (let count = 0; count < 10; count++) expect((await suggest(key)).status).toBe(200);
    expect((await suggest(key)).body.reason).toBe('too_many_a_minute');
  });

  it('is refused while two others of the account are in progress', async () => {
    calls = await openTestCalls(MODEL);
    const held = Promise.withResolvers<SuggestionOutcome>();
    calls.dispatch.suggestion = held.promise;
    const [{ key }, other] = [await calls.createUser(), await calls.createUser()];
    const running = [suggest(key), suggest(key)];
    await expect.poll(() => calls.dispatch.suggestionRequests.length).toBe(2);
    const refused = await suggest(key);
    expect([refused.status, refused.body.reason]).toEqual([429, 'too_many_at_once']);
    running.push(suggest(other.key));
    await expect.poll(() => calls.dispatch.suggestionRequests.length).toBe(3);
    held.resolve(MADE);
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await suggest(key)).status).toBe(200);
  });

  it('needs a description of at most 1,000 characters', async () => {
    calls = await openTestCalls(MODEL);
    const { key } = await calls.createUser();
    for (const body of [{}, { description: '  ' }, { description: 'x'.repeat(1_001) }])
      expect((await suggest(key, body)).status).toBe(422);
    expect(calls.dispatch.suggestionRequests).toEqual([]);
  });
});

/**
 * Journey: a build phones the demo agent as callers of test files do, with the same verdict whenever it does;
 * and a test made of a call that went wrong fails on the version that had the fault, and passes on the next.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import type { Json } from '#cli/api.ts';
import { runParley } from '#test/command-line.ts';
import {
  type ChatBody,
  type ChatScript,
  type OpenaiServer,
  say,
  startOpenaiServer,
} from '#test/fakes/openai-server.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { type Product, startProduct } from './product.ts';
import { demoAgentId, greetWith } from './tenant.ts';

/** It hears the callers, who speak with Flite. */
const NEEDED = ['pocketsphinx_continuous'];
const TESTS = resolve(import.meta.dirname, 'voice-tests');
const RUNS = 10;
/** Of ten callers at once, on two cores with other work, each is late itself: then no run counts. */
const AT_ONCE = 4;
const CALLERS = ['+15557650042', '+15557650043', '+15557650044'];

let product: Product;
let model: OpenaiServer;
let agentId: string;
let folder: string;

const parley = (...args: string[]) =>
  runParley(args, {
    folder,
    environment: { PARLEY_URL: product.url, PARLEY_API_KEY: product.rootKey, HOME: folder },
  });

describeNeeds(NEEDED)('tests by voice', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-voice-tests-'));
    model = await startOpenaiServer({ chat: playAndJudge });
    product = await startProduct({
      environment: { OPENAI_BASE_URL: model.url, LLM_DEFAULT: 'local/demo' },
    });
    agentId = await demoAgentId(product);
    await greetWith(product, 'Hello.');
  }, 120_000);
  afterAll(async () => {
    await product?.close();
    await model?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  itNeeds(NEEDED)('pass in each of ten runs on the demo agent, by phone', { timeout: 240_000 }, async () => {
    const { code, out, err } = await parley(
      ...['test', agentId, '--json', '--voice', TESTS, '--repeat', String(RUNS)],
      ...['--parallel', String(AT_ONCE), '--junit', 'results.xml'],
    );
    expect([code, err], problemsIn(out)).toEqual([0, '']);
    const { tests } = JSON.parse(out);
    expect(tests.map(({ runs }: { runs: unknown[] }) => runs.length)).toEqual([RUNS, RUNS, RUNS]);
    expect(tests[0].figures.pass_rate).toMatchObject({ value: 1, low: expect.any(Number), high: 1 });
    expect(tests[1].figures.judged_rates).toEqual({ asked: tests[1].figures.pass_rate });
    const conversations = tests[1].runs.map(({ goals, judged }: Json) => [goals, judged[0].result]);
    expect(conversations).toEqual(Array(RUNS).fill([['reached'], 'success']));
    expect(readFileSync(join(folder, 'results.xml'), 'utf8')).toContain(
      `<testsuites tests="${3 * RUNS}" failures="0" errors="0"`,
    );
  });

  itNeeds(NEEDED)(
    'made of a call fail on the version that cut the caller off, and pass on the next',
    { timeout: 240_000 },
    async () => {
      const config = (conversation: Record<string, unknown>) =>
        product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, { conversation });
      await config({ response_wait_ms: 300, eagerness: 'eager' });
      const { version_number: hasty } = await product.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
      const sessionId = await makeTestOfCutOff();
      const test = JSON.parse(readFileSync(join(folder, 'cut-off.json'), 'utf8'));
      expect(test).toMatchObject({ expect: { cut_offs: 0 }, made_from: { session_id: sessionId } });

      await config({ response_wait_ms: 2_000, eagerness: 'relaxed' });
      const run = (...against: string[]) => parley('test', agentId, '--voice', 'cut-off.json', ...against);
      const before = await run('--against', String(hasty), '--repeat', '3');
      const after = await run();
      expect(before.code, before.out).toBe(1);
      expect(before.out).toMatch(
        /✗ .*run \d: cut_offs: \d “i would like to book a table”.*, expected: at most 0/,
      );
      expect([after.code, after.err], after.out).toEqual([0, '']);
    },
  );
});

describe('the judge of a voice test', () => {
  it('is the agent’s own model, asked about its success criteria', { timeout: 120_000 }, async () => {
    const verdicts = { criteria: [{ name: 'polite', result: 'success', rationale: 'It greets.' }] };
    const model = await startOpenaiServer({
      chat: ({ messages }) =>
        say(JSON.stringify(messages).includes('polite') ? JSON.stringify(verdicts) : 'A table for two.'),
    });
    product = await startProduct({ environment: { OPENAI_BASE_URL: model.url } });
    try {
      folder = mkdtempSync(join(tmpdir(), 'parley-voice-judge-'));
      const config = {
        prompt: { first_message_mode: 'fixed', first_message: 'Good evening.' },
        llm: { model: 'openai/test-model' },
        conversation: { keypad_input: { enabled: true } },
        analysis: { criteria: [{ name: 'polite', description: 'The agent greets' }] },
      };
      const { agent_id: id } = await product.ask('POST', '/v1/agent/agents', { name: 'Judged', config });
      for (const expected of ['success', 'failure'])
        writeFileSync(
          join(folder, `${expected}.json`),
          JSON.stringify({
            ...{ parley_voice_test: 1, name: expected },
            caller: { codec: expected === 'success' ? 'pcma' : 'opus' },
            steps: [
              { do: 'listen', quiet_ms: 400 },
              { do: 'press', digits: '2#' },
              { do: 'listen', quiet_ms: 400 },
            ],
            expect: { replies: [{ contains: 'table for two' }], criteria: { polite: expected } },
          }),
        );
      const { code, out } = await parley('test', id, '--json', '--voice', '.', '--parallel', '2');
      expect(code, out).toBe(1);
      expect(
        JSON.parse(out).tests.map(
          ({ name, passed, runs }: { name: string; passed: boolean; runs: Json[] }) => [
            name,
            passed,
            runs[0].criteria,
          ],
        ),
        problemsIn(out),
      ).toEqual([
        ['failure', false, { polite: 'success' }],
        ['success', true, { polite: 'success' }],
      ]);
    } finally {
      await product.close();
      await model.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Why runs did not pass, in a line each: the whole output is longer than a report of tests shows. */
function problemsIn(out: string): string {
  if (!out.startsWith('{')) return out;
  const runs: Json[] = JSON.parse(out).tests.flatMap((test: Json) => test.runs);
  return runs
    .filter(({ passed }) => !passed)
    .map(({ error, checks }) => error ?? JSON.stringify(checks.filter((check: Json) => !check.passed)))
    .join('\n');
}

/** A judge that reads what it is shown, and a caller who wants a table, each by a few rules. */
function playAndJudge({ model: asked, messages }: ChatBody): ChatScript {
  const shown = String(messages.at(-1)?.content);
  if (asked === 'judge') {
    const result = /Agent: [^\n]*how many people/i.test(shown) ? 'success' : 'failure';
    return say(JSON.stringify({ conditions: [{ name: 'asked', result, rationale: 'As shown.' }] }));
  }
  const [, call = ''] = /<conversation>([\s\S]*)<\/conversation>/.exec(shown) ?? [];
  return say(JSON.stringify(nextMove(call.split('Agent:').at(-1)?.toLowerCase() ?? '')));
}

function nextMove(heard: string): object {
  if (heard.includes('how many')) return { do: 'hang_up', goal: 'reached' };
  const booking = 'I would like to book a table.';
  if (heard.includes('hello')) return { do: 'say', text: 'What are your opening hours?', cut_in: booking };
  return { do: 'say', text: booking, goal: 'open' };
}

/** Returns the session. A busy recogniser lets a caller go on uncut: then one who thinks longer calls. */
async function makeTestOfCutOff(): Promise<string> {
  for (const [index, from] of CALLERS.entries()) {
    const sessionId = await callHesitantly(from, 1_200 + 300 * index);
    const { code } = await parley('make-test', sessionId, '-o', 'cut-off.json');
    if (code === 0) return sessionId;
  }
  throw new Error('no caller was cut off');
}

/** A caller who stops to think in the middle of a sentence, longer than the agent waits. */
async function callHesitantly(from: string, pauseMs: number): Promise<string> {
  const scene = prepareScene({
    name: 'hesitation',
    steps: [
      { do: 'listen', quiet_ms: 500 },
      { do: 'say', text: 'I would like to book a table', is_unfinished: true },
      { do: 'pause', ms: pauseMs },
      { do: 'say', text: 'for two people.' },
      { do: 'listen', quiet_ms: 600 },
    ],
  });
  const caller = new PhoneCaller({ ports: { first: 42_000, last: 42_009 }, from });
  await caller.call({ target: product.sipAddress(), scene });
  const find = async () =>
    (
      await product.ask(
        'GET',
        `/v1/agent/sessions?status=completed&caller_number=${encodeURIComponent(from)}`,
      )
    ).sessions[0];
  await product.until('the session is completed', async () => (await find()) !== undefined);
  return (await find()).session_id;
}

import { expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import type { AnalysisJob } from '#protocol/analysis-job.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import { analyse } from '#runtime/analysis/analysis.ts';
import { createDemoModel } from '#runtime/llm/demo.ts';
import { type ChatRequest, type LanguageModel, ModelError } from '#runtime/llm/llm.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { testPlan, testTool } from '../test-plan.ts';

const created_at = '2026-01-01T00:00:00.000Z';
const said = (role: 'user' | 'assistant', content: string): SessionItem => ({
  type: 'message',
  role,
  content,
  turn_id: 1,
  created_at,
  id: 'i',
});
const conversation = [
  said('assistant', 'Hello!'),
  said('user', 'A table for two, please.'),
  said('assistant', 'Booked.'),
];

const analysis = {
  data_fields: [
    { name: 'party_size', type: 'number' },
    { name: 'is_regular', type: 'boolean' },
    { name: 'mood', type: 'enum', enum_options: ['happy', 'angry'] },
    { name: 'note' },
  ],
  criteria: [{ name: 'polite' }, { name: 'booked' }],
};

function job(items: readonly SessionItem[], over: object = analysis): AnalysisJob {
  return {
    job_id: 'j',
    plan: testPlan({ analysis: over }),
    items: [...items],
  };
}

/** A model that returns these texts in order and records its requests. */
function scripted(
  ...answers: readonly (string | Error)[]
): LanguageModel & { readonly requests: ChatRequest[] } {
  const requests: ChatRequest[] = [];
  return {
    id: 'test/scripted',
    isCustom: false,
    requests,
    async *stream(request) {
      const answer = answers[Math.min(requests.push(request), answers.length) - 1];
      if (answer instanceof Error) throw answer;
      yield { type: 'text', text: answer ?? '' };
      yield { type: 'finish', usage: { inputTokens: null, outputTokens: null, cachedInputTokens: null } };
    },
  };
}

const run = (subject: AnalysisJob, model: LanguageModel) =>
  analyse(subject, model, { clock: systemClock, signal: new AbortController().signal });

it('the result has the summary, every field in its own type and every criterion', async () => {
  const answer = {
    summary: 'Two people dine.',
    data: [
      { name: 'party_size', value: '2', rationale: 'said so' },
      { name: 'is_regular', value: 'true', rationale: '' },
      { name: 'mood', value: 'Happy', rationale: '' },
      { name: 'invented', value: 1, rationale: '' },
    ],
    criteria: [{ name: 'booked', result: 'success', rationale: 'it was' }],
  };
  const result = await run(
    job(conversation),
    scripted(`Here you are:\n\`\`\`json\n${JSON.stringify(answer)}\n\`\`\``),
  );
  expect(result).toEqual({
    status: 'completed',
    summary: 'Two people dine.',
    data: [
      { name: 'party_size', type: 'number', value: 2, rationale: 'said so' },
      { name: 'is_regular', type: 'boolean', value: true, rationale: '' },
      { name: 'mood', type: 'enum', value: 'happy', rationale: '' },
      { name: 'note', type: 'text', value: null, rationale: '' },
    ],
    criteria_results: [
      { name: 'polite', result: 'unknown', rationale: '' },
      { name: 'booked', result: 'success', rationale: 'it was' },
    ],
    error: null,
  });
});

it('security 20: a failure hidden by its tool is kept from the model', async () => {
  const failed = (call_id: string, tool_name: string): SessionItem => ({
    type: 'tool_result',
    call_id,
    tool_name,
    tool_source: 'webhook',
    status: 'failed',
    output: `stack of ${tool_name}`,
    output_truncated: false,
    error: 'HTTP 500',
    latency_ms: 1,
    turn_id: 1,
    created_at,
  });
  const { plan, ...rest } = job([...conversation, failed('1', 'hidden'), failed('2', 'open')]);
  const tools = [
    testTool({ function_name: 'hidden', error_handling: 'hide' }),
    testTool({ function_name: 'open' }),
  ];
  const model = scripted('{"summary": "x"}');
  await run({ ...rest, plan: { ...plan, tools } }, model);
  const shown = String(model.requests[0]?.messages[1]?.content);
  expect(shown).toContain('Tool hidden failed: The tool failed.');
  expect(shown).not.toContain('stack of hidden');
  expect(shown).toContain('stack of open');
});

it('the model sees the conversation as data, together with the agent’s analysis settings', async () => {
  const model = scripted('{"summary": "x"}');
  await run(job(conversation), model);
  const [system, user] = model.requests[0]?.messages ?? [];
  expect(user?.content).toContain('Caller: A table for two, please.');
  expect(system?.content).toContain('- mood (one of ["happy","angry"])');
});

it('a list or an object is not accepted as a number, boolean or option', async () => {
  const data = ['party_size', 'is_regular', 'mood'].flatMap((name) => [{ name, value: { toString: 1 } }]);
  const result = await run(job(conversation), scripted(JSON.stringify({ data })));
  expect(result).toMatchObject({ status: 'completed' });
  expect(result.data.map((entry) => entry.value)).toEqual([null, null, null, null]);
});

it('a value of the wrong type becomes null', async () => {
  const data = [
    { name: 'party_size', value: 'many' },
    { name: 'is_regular', value: 'perhaps' },
    { name: 'mood', value: 'bored' },
    { name: 'note', value: null },
  ];
  const result = await run(job(conversation), scripted(JSON.stringify({ data })));
  expect(result.data.map((entry) => entry.value)).toEqual([null, null, null, null]);
});

it('an odd value from a model affects only its own entry', async () => {
  const answer = {
    summary: 7,
    data: [
      'two',
      null,
      { name: 'party_size', value: 2, rationale: null },
      { value: 'nameless' },
      { name: 'note', value: 'by phone', rationale: ['a'] },
    ],
    criteria: [
      { name: 'polite', result: 'Success', rationale: null },
      { name: 'booked', result: 'maybe', rationale: 'not said' },
      'none',
    ],
  };
  const result = await run(job(conversation), scripted(JSON.stringify(answer)));
  expect(result).toMatchObject({ status: 'completed', summary: null, error: null });
  expect(result.data.map(({ value }) => value)).toEqual([2, null, null, 'by phone']);
  expect(result.criteria_results).toEqual([
    { name: 'polite', result: 'success', rationale: '' },
    { name: 'booked', result: 'unknown', rationale: 'not said' },
  ]);
});

it.each([
  ['pass', 'success'],
  ['PASSED', 'success'],
  [true, 'success'],
  ['Failed', 'failure'],
  [false, 'failure'],
  ['not met', 'failure'],
  ['constructor', 'unknown'],
  [{ toString: 1 }, 'unknown'],
  [null, 'unknown'],
])('a criterion judged %j is a %s', async (given, result) => {
  const answer = { criteria: [{ name: 'polite', result: given }] };
  expect((await run(job(conversation), scripted(JSON.stringify(answer)))).criteria_results[0]).toMatchObject({
    result,
  });
});

it('an endless answer is aborted', async () => {
  const endless: LanguageModel = {
    id: 'test/endless',
    isCustom: false,
    async *stream() {
      for (;;) yield { type: 'text', text: '{'.repeat(1_000) };
    },
  };
  expect(await run(job(conversation), endless)).toMatchObject({
    status: 'error',
    error: 'the answer is longer than 200000 characters',
  });
});

it.each([
  ['the caller did not speak', job([said('assistant', 'Hello?')])],
  ['everything is off', job(conversation, { summary: { enabled: false } })],
])('is skipped without asking the model when %s', async (_, subject) => {
  const model = scripted('{}');
  expect(await run(subject, model)).toEqual({
    status: 'skipped',
    summary: null,
    data: [],
    criteria_results: [],
    error: null,
  });
  expect(model.requests).toHaveLength(0);
});

it('invalid JSON or a brief model outage is retried once, then ends in an error', async () => {
  expect(await run(job(conversation), scripted('sorry', '{"summary": "ok"}'))).toMatchObject({
    status: 'completed',
    summary: 'ok',
  });
  expect(
    await run(job(conversation), scripted(new ModelError('down', { retryable: true }), '{"summary": "ok"}')),
  ).toMatchObject({ summary: 'ok' });
  const model = scripted('sorry', 'still sorry');
  expect(await run(job(conversation), model)).toEqual({
    status: 'error',
    summary: null,
    data: [],
    criteria_results: [],
    error: 'the answer is not JSON',
  });
  expect(model.requests).toHaveLength(2);
});

it('a refusal is not retried', async () => {
  const model = scripted(new ModelError('The model answered HTTP 401', { retryable: false, status: 401 }));
  expect(await run(job(conversation), model)).toMatchObject({
    status: 'error',
    error: 'The model answered HTTP 401',
  });
  expect(model.requests).toHaveLength(1);
});

it('a model that never answers leads to an error within bounded time', async () => {
  const clock = new ManualClock();
  const silent: LanguageModel = {
    id: 'test/silent',
    isCustom: false,
    async *stream({ signal }) {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  };
  const result = analyse(job(conversation), silent, { clock, signal: new AbortController().signal });
  await clock.advance(60_001);
  await clock.advance(60_001);
  expect(await result).toMatchObject({ status: 'error', error: 'no answer within 60 s' });
  expect(clock.pendingTimers).toBe(0);
});

it('a demo call is completed with its transcript, without any judgement', async () => {
  const result = await run(job(conversation), createDemoModel());
  expect(result.status).toBe('completed');
  expect(result.summary).toMatch(/rule-based demo.*A table for two, please\./);
  expect(result.data.every((entry) => entry.value === null)).toBe(true);
  expect(result.criteria_results.every((entry) => entry.result === 'unknown')).toBe(true);
});

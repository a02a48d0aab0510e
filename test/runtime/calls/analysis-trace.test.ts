/** The analysis after a call, in its trace. */
import { expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import type { FinishedSpan } from '#config/tracing.ts';
import { traceAnalysis } from '#runtime/calls/analysis-trace.ts';
import type { LanguageModel } from '#runtime/llm/llm.ts';
import { collect } from '#test/collect.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { testPlan } from '../test-plan.ts';
import { REQUEST, ROOT, START, USAGE } from './traced-call.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

it('the generations of an analysis are below it, so that their tokens count', async () => {
  const clock = new ManualClock(START);
  const spans: FinishedSpan[] = [];
  const tracing = {
    hasContent: false,
    record: (span: FinishedSpan) => `${spans.push(span)}`,
    close: async () => undefined,
  };
  const model: LanguageModel = {
    id: 'openai/gpt',
    isCustom: false,
    async *stream() {
      await clock.advance(300);
      yield { type: 'finish', usage: USAGE };
    },
  };
  const trace = traceAnalysis(tracing, testPlan({}, { traceparent: ROOT }), { clock, logger });
  await collect(trace.model(model).stream(REQUEST));
  trace.end(null);
  expect(spans).toMatchObject([
    { name: 'analysis', parent: ROOT, startMs: START, endMs: START + 300, error: null },
    { name: 'chat gpt', parent: '1', attributes: { 'gen_ai.usage.input_tokens': 200 } },
  ]);
});

it('an analysis without tracing has its model as it is', () => {
  const model = { id: 'openai/gpt' } as LanguageModel;
  expect(traceAnalysis(null, testPlan(), { clock: new ManualClock(), logger }).model(model)).toBe(model);
});

/**
 * Journey: an operator reads a phone call in a collector as Langfuse, Tempo or Jaeger do: by names, times,
 * parents and attributes of its spans. The operator has asked for content.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { namesInPicture, namesInTrace } from '#bench/traces/pictures.ts';
import type { ReceivedSpan } from '#test/fakes/otlp-receiver.ts';
import { TracedCalls } from './traced-calls.ts';
import { HEARD, type VendorStage } from './vendor-stage.ts';

const INTERNAL = 1;
const CLIENT = 3;
const FAILED = 2;
/** A span's times are in whole ms. */
const ROUNDING_MS = 1;

/** Describes it on a shared product. */
export function describeCallTraces(stage: VendorStage): void {
  describe('the trace of a phone call', () => {
    let calls: TracedCalls;
    let sessionId: string;
    let spans: readonly ReceivedSpan[];

    beforeAll(async () => {
      calls = await TracedCalls.open(stage);
      spans = await calls.book();
      sessionId = spans[0]?.traceId ?? '';
    }, 120_000);
    afterAll(() => calls?.close());

    const named = (start: string) => spans.filter(({ name }) => name.startsWith(start));
    const one = (start: string) => {
      const [span, ...others] = named(start);
      expect([start, span?.name, others.length]).toEqual([start, expect.any(String), 0]);
      return span as ReceivedSpan;
    };

    it('has the agent as its root, and the turn below it', () => {
      const root = one('invoke_agent ');
      expect(root).toMatchObject({
        name: 'invoke_agent Bistro',
        parentId: null,
        kind: INTERNAL,
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'Bistro',
          'gen_ai.conversation.id': sessionId,
          'parley.end_reason': 'user_hangup',
        },
      });
      expect(one('turn')).toMatchObject({ parentId: root.spanId });
    });

    it('shows in the turn what was heard, generated, called and spoken', () => {
      const turn = one('turn');
      const inTurn = spans.filter(({ parentId }) => parentId === turn.spanId).map(({ name }) => name);
      expect(inTurn).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^speech_to_text /),
          'chat test-model',
          'execute_tool book_table',
          expect.stringMatching(/^text_to_speech /),
        ]),
      );
    });

    it('has every span of the worker within its parent', () => {
      const parents = new Map(spans.map((span) => [span.spanId, span]));
      for (const { name, parentId, service, startMs, endMs } of spans) {
        const parent = parentId === null ? undefined : parents.get(parentId);
        // The analysis follows the call.
        if (service !== 'parley-worker' || name === 'analysis' || parent === undefined) continue;
        const [before, after] = [parent.startMs - startMs, endMs - parent.endMs];
        expect([name, Math.max(before, after) <= ROUNDING_MS, before, after]).toEqual([
          name,
          true,
          before,
          after,
        ]);
      }
    });

    it('counts the tokens of each generation once', () => {
      const generations = named('chat ').filter(({ attributes }) => attributes['parley.aborted'] === false);
      expect(generations.length).toBeGreaterThanOrEqual(2);
      for (const generation of generations)
        expect(generation).toMatchObject({
          kind: CLIENT,
          attributes: {
            'gen_ai.provider.name': 'openai',
            'gen_ai.request.model': 'test-model',
            'gen_ai.usage.input_tokens': 10,
            'gen_ai.usage.output_tokens': expect.any(Number),
            'gen_ai.response.time_to_first_chunk': expect.any(Number),
            'gen_ai.response.finish_reasons': [expect.stringMatching(/^(stop|tool_call)$/)],
          },
        });
      const counted = spans.filter(({ attributes }) => 'gen_ai.usage.input_tokens' in attributes);
      expect(counted.map(({ spanId }) => spanId)).toEqual(generations.map(({ spanId }) => spanId));
    });

    it('has the vendors’ speech with its seconds', () => {
      expect(one('speech_to_text ')).toMatchObject({
        kind: CLIENT,
        attributes: { 'gen_ai.provider.name': 'openai', 'gen_ai.speech.input.language': 'en' },
      });
      for (const { attributes } of [...named('speech_to_text '), ...named('text_to_speech ')])
        expect(attributes['parley.audio_seconds']).toBeGreaterThan(0);
    });

    it('contains what was said, since the operator has asked for it', () => {
      const text = (start: string, key: string) =>
        named(start)
          .map(({ attributes }) => attributes[key])
          .join('\n');
      expect(text('speech_to_text ', 'gen_ai.output.messages')).toContain(HEARD);
      expect(text('chat ', 'gen_ai.input.messages')).toContain(HEARD);
      expect(text('chat ', 'gen_ai.output.messages')).toContain('Your table is booked.');
      expect(text('execute_tool ', 'gen_ai.tool.call.arguments')).toContain('two');
      expect(text('execute_tool ', 'gen_ai.tool.call.result')).toContain('booked for two');
      expect(text('text_to_speech ', 'gen_ai.input.messages')).toContain('Your table is booked');
    });

    it('has the spans that its picture in the documentation shows (npm run docs:traces draws it)', () => {
      expect(namesInTrace(spans)).toEqual(namesInPicture('booked.svg'));
    });

    it('shows an outage of the model as the caller heard it', async () => {
      const outage = await calls.bookInVain();
      expect(namesInTrace(outage)).toEqual(namesInPicture('outage.svg'));
      const turn = outage.find(({ name }) => name === 'turn');
      expect(turn).toMatchObject({ status: FAILED, attributes: { 'error.type': 'no_answer' } });
      const apology = outage.find(({ attributes }) => attributes['parley.line'] === 'gave_up_turn');
      expect(apology).toMatchObject({
        parentId: turn?.spanId,
        name: expect.stringMatching(/^text_to_speech /),
      });
    }, 120_000);
  });
}

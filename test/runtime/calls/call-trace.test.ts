import { describe, expect, it } from 'vitest';
import type { FinishedSpan } from '#config/tracing.ts';
import type { TurnLatency } from '#protocol/session-record.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { at, openCall, ROOT, START } from './traced-call.ts';

const latency = (turnId: number, fromMs: number): TurnLatency => ({
  turn_id: turnId,
  speech_ended_at: at(fromMs),
  endpoint_ms: 200,
  transcript_ms: 0,
  first_token_ms: 300,
  first_sentence_ms: 40,
  first_audio_ms: 50,
  playout_ms: 10,
  total_ms: 600,
  endpoint_rule: 'complete',
  speculative: false,
});

/** Spans recorded for these reports, with the name of each span's parent. */
function traced(reports: readonly DurableReport[], traceparent: string | null = ROOT) {
  const { spans, trace } = openCall({ plan: { traceparent } });
  for (const report of reports) trace.note(report);
  const parentOf = ({ parent }: FinishedSpan) => (parent === ROOT ? 'call' : spans[Number(parent) - 1]?.name);
  return spans.map((span) => ({
    name: span.name,
    of: parentOf(span),
    from: span.startMs - START,
    to: span.endMs - START,
    span,
  }));
}

describe('the trace of a call', () => {
  const reports: DurableReport[] = [
    { type: 'joined', at: at(100) },
    {
      type: 'items',
      items: [
        {
          type: 'message',
          role: 'user',
          content: 'my card is 4111 1111 1111 1111',
          turn_id: 1,
          created_at: at(900),
          id: 'm1',
        },
        {
          type: 'tool_result',
          call_id: 'c',
          tool_name: 'order',
          tool_source: 'webhook',
          status: 'failed',
          output: null,
          output_truncated: false,
          error: 'no such card 4111',
          latency_ms: 120,
          turn_id: 1,
          created_at: at(1_400),
        },
      ],
    },
    { type: 'turn', latency: latency(1, 1_000) },
    {
      type: 'usage',
      turn_id: 1,
      model: 'openai/m',
      input_tokens: 10,
      cached_input_tokens: null,
      output_tokens: 5,
      discarded_output_tokens: 0,
    },
    {
      type: 'usage',
      turn_id: 1,
      model: 'openai/m',
      input_tokens: 20,
      cached_input_tokens: null,
      output_tokens: 7,
      discarded_output_tokens: 2,
    },
    { type: 'ended', at: at(9_000), end_reason: 'user_hangup' },
  ];

  it('shows the parts of each turn’s waterfall in sequence, with its tools beside them', () => {
    expect(traced(reports).map(({ name, of, from, to }) => [name, of, from, to])).toEqual([
      ['join', 'call', 0, 100],
      ['turn', 'call', 1_000, 1_600],
      ['endpointing', 'turn', 1_000, 1_200],
      ['llm first token', 'turn', 1_200, 1_500],
      ['llm first sentence', 'turn', 1_500, 1_540],
      ['tts first audio', 'turn', 1_540, 1_590],
      ['playout', 'turn', 1_590, 1_600],
      ['execute_tool order', 'turn', 1_280, 1_400],
    ]);
  });

  it('contains figures, but no speech', () => {
    const spans = traced(reports);
    expect(spans[1]?.span.attributes).toMatchObject({
      'parley.turn_id': 1,
      'parley.first_token_ms': 300,
      'parley.total_ms': 600,
      'parley.llm_model': 'openai/m',
      'parley.input_tokens': 30,
      'parley.output_tokens': 12,
      'parley.discarded_output_tokens': 2,
    });
    expect(JSON.stringify(spans)).not.toContain('4111');
  });

  it('attributes tools of an unheard turn to the call, and records how a dial ended', () => {
    const { name, of, span } =
      traced([{ type: 'dial', dial_status: 'busy', at: at(50), sip_call_id: null }])[0] ?? {};
    expect([name, of, span?.error]).toEqual(['dial', 'call', 'busy']);
    const unheard = reports.filter(({ type }) => type !== 'turn');
    expect(traced(unheard).map(({ name, of }) => [name, of])).toEqual([
      ['join', 'call'],
      ['execute_tool order', 'call'],
    ]);
  });

  it('is empty for a plan without a trace', () => {
    expect(traced(reports, null)).toEqual([]);
  });
});

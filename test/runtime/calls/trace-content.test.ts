/** The words of a call in its trace. */
import { describe, expect, it } from 'vitest';
import { at, generate, openCall, SECRET, sound, started, USAGE } from './traced-call.ts';

describe('content in a trace', () => {
  /** A call in which a caller speaks, and model, tool and voice work. */
  async function talk(options: Parameters<typeof openCall>[0]) {
    const call = openCall(options);
    call.script.take({ type: 'call.started' }, { type: 'call.connected' });
    call.ears.final(SECRET);
    call.step(started, generate('r1'));
    await call.generate([
      { type: 'text', text: `Did you say ${SECRET}?` },
      { type: 'finish', usage: USAGE, finishReason: 'stop' },
    ]);
    const tool = { call_id: 'c', tool_name: 'pay', tool_source: 'webhook', turn_id: 1, created_at: at(5) };
    call.trace.note({
      type: 'items',
      items: [
        { type: 'tool_call', ...tool, input: `{"card":"${SECRET}"}` },
        {
          type: 'tool_result',
          ...tool,
          status: 'completed',
          output: `paid with ${SECRET}`,
          output_truncated: false,
          error: null,
          latency_ms: 5,
        },
      ],
    });
    await call.speak([sound(10)], 'r1');
    call.trace.close();
    return call;
  }
  const attributeOf = (call: Awaited<ReturnType<typeof talk>>, name: string, key: string) =>
    (call.named(name)[0] as Record<string, unknown> | undefined)?.[key];

  it('is in no span unless the operator wants it', async () => {
    expect(JSON.stringify((await talk({})).spans)).not.toContain('4111');
  });

  it('is in the spans of the work that it belongs to', async () => {
    const call = await talk({ hasContent: true });
    expect(JSON.parse(String(attributeOf(call, 'chat gpt', 'gen_ai.system_instructions')))).toEqual([
      { type: 'text', content: 'You are a bank.' },
    ]);
    expect(JSON.parse(String(attributeOf(call, 'chat gpt', 'gen_ai.input.messages')))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: SECRET }] },
    ]);
    expect(JSON.parse(String(attributeOf(call, 'chat gpt', 'gen_ai.output.messages')))).toEqual([
      {
        role: 'assistant',
        parts: [{ type: 'text', content: `Did you say ${SECRET}?` }],
        finish_reason: 'stop',
      },
    ]);
    expect(attributeOf(call, 'execute_tool pay', 'gen_ai.tool.call.arguments')).toBe(`{"card":"${SECRET}"}`);
    expect(attributeOf(call, 'execute_tool pay', 'gen_ai.tool.call.result')).toBe(`paid with ${SECRET}`);
    expect(attributeOf(call, 'speech_to_text nova-3', 'gen_ai.output.messages')).toContain(SECRET);
    expect(attributeOf(call, 'text_to_speech Katie', 'gen_ai.input.messages')).toContain(SECRET);
  });

  it('of a preview is never sent', async () => {
    const call = await talk({ hasContent: true, plan: { is_preview: true } });
    expect(JSON.stringify(call.spans)).not.toContain('4111');
  });

  it('has dots in place of keys that the agent hides', async () => {
    const call = openCall({ hasContent: true, plan: { press_keys: { hide_keys: true } } });
    await call.generate([
      { type: 'tool_call', call: { callId: 'c1', toolName: '_press_keys', input: '{"keys":"4w711#"}' } },
      { type: 'finish', usage: USAGE },
    ]);
    expect(attributeOf(call, 'chat gpt', 'gen_ai.output.messages')).toContain('•w••••');
    expect(JSON.stringify(call.spans)).not.toContain('711');
  });

  it('is bounded: of a long conversation the newest messages are kept', async () => {
    const call = openCall({ hasContent: true });
    const said = Array.from({ length: 100 }, (_, n) => ({
      role: 'user' as const,
      content: `${n} ${'x'.repeat(10_000)}`,
    }));
    await call.generate([{ type: 'finish', usage: USAGE }], { messages: said });
    const messages = String(attributeOf(call, 'chat gpt', 'gen_ai.input.messages'));
    expect(messages.length).toBeLessThanOrEqual(16_000);
    const kept: { parts: { content: string }[] }[] = JSON.parse(messages);
    expect(kept.at(-1)?.parts[0]?.content).toMatch(/^99 x+… \(cut\)$/);
  });

  it('is bounded also in a single message of many parts, and stays JSON', async () => {
    const call = openCall({ hasContent: true });
    const quotes = '"'.repeat(4_000);
    await call.generate([
      ...Array.from({ length: 64 }, (_, n) => ({
        type: 'tool_call' as const,
        call: { callId: `c${n}`, toolName: 'order', input: quotes },
      })),
      { type: 'finish', usage: USAGE },
    ]);
    const messages = String(attributeOf(call, 'chat gpt', 'gen_ai.output.messages'));
    expect(messages.length).toBeLessThanOrEqual(16_000);
    expect(JSON.parse(messages)[0].parts).toHaveLength(64);
  });
});

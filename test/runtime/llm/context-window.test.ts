import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ContextWindow } from '#runtime/llm/context-window.ts';
import type { ChatMessage } from '#runtime/llm/llm.ts';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const agent = (content: string): ChatMessage => ({ role: 'assistant', content });
const tool = (id: string, content: string): ChatMessage[] => [
  { role: 'assistant', content: '', toolCalls: [{ callId: id, toolName: 'book', input: '{}' }] },
  { role: 'tool', callId: id, toolName: 'book', content },
];
/** This many exchanges of about 200 tokens each, every third with a tool. */
const talk = (exchanges: number): ChatMessage[] =>
  Array.from({ length: exchanges }, (_, index) => [
    user(`question ${index} ${'q'.repeat(300)}`),
    ...(index % 3 === 0 ? tool(`c${index}`, `result ${index}`) : []),
    agent(`answer ${index} ${'a'.repeat(300)}`),
  ]).flat();

/** Whether every result follows its call and every call has its result after it. */
function pairs(messages: readonly ChatMessage[]): boolean {
  const called = messages.flatMap((message) =>
    message.role === 'assistant' ? (message.toolCalls ?? []).map(({ callId }) => callId) : [],
  );
  const answered = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []));
  return called.join() === answered.join();
}

const bytes = (messages: readonly ChatMessage[]) =>
  messages.reduce((sum, { content }) => sum + content.length, 0);

describe('a conversation that outgrows its model’s window', () => {
  it('is passed on in full while it fits', () => {
    const window = new ContextWindow({
      contextTokens: 8_000,
      summarise: () => Promise.reject(new Error('not wanted')),
    });
    const conversation = talk(10);
    expect(window.fit([], conversation)).toBe(conversation);
  });

  it('is summarised once before it fills up; the summary then replaces its older part and is updated', async () => {
    const asked: string[] = [];
    const window = new ContextWindow({
      contextTokens: 8_000,
      summarise: async (transcript) => {
        asked.push(transcript);
        return `summary ${asked.length}`;
      },
    });
    const grown = talk(25);
    expect(window.fit([], grown)).toBe(grown);
    window.fit([], grown);
    await expect
      .poll(() => window.fit([], [...grown, user('and now?')])[0])
      .toEqual(user('[What was said before, in short: summary 1]'));
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatch(/^Caller: question 0 [\s\S]*Tool result: result 0/);
    const longer = [...grown, ...talk(25)];
    await expect
      .poll(() => {
        window.fit([], longer);
        return asked.length;
      })
      .toBe(2);
    expect(asked[1]).toMatch(/^Before: summary 1\n/);
  });

  it('loses its oldest part when no summary arrives, never the last words or half of a tool call', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 120 }),
        fc.integer({ min: 2_000, max: 12_000 }),
        (exchanges, contextTokens) => {
          const window = new ContextWindow({
            contextTokens,
            summarise: () => Promise.reject(new Error('down')),
          });
          const conversation = [...talk(exchanges), user('the last words')];
          const shown = window.fit([], conversation);
          expect(shown.at(-1)).toEqual(user('the last words'));
          expect(pairs(shown)).toBe(true);
          expect(bytes(shown)).toBeLessThan(contextTokens * 3);
          if (shown.length < conversation.length) expect(shown[0]?.role).toBe('user');
        },
      ),
      { numRuns: 50 },
    );
  });

  it('a tool result larger than the window is shortened, not dropped', () => {
    const window = new ContextWindow({
      contextTokens: 8_000,
      summarise: () => Promise.reject(new Error('down')),
    });
    const shown = window.fit([], [user('look it up'), ...tool('c1', 'x'.repeat(200_000))]);
    expect(shown).toHaveLength(3);
    expect(shown[2]?.content).toMatch(/^x+ \[cut here\]$/);
    expect(bytes(shown)).toBeLessThan(24_000);
  });
});

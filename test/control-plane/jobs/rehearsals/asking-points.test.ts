import { describe, expect, it } from 'vitest';
import { askingPoints } from '#control-plane/jobs/rehearsals/asking-points.ts';
import type { SessionItem } from '#protocol/session-record.ts';

const created_at = '2026-11-01T10:00:00.000Z';
const message = (role: 'user' | 'assistant' | 'human', content: string, turn_id: number | null = 1) =>
  ({ type: 'message', role, content, turn_id, created_at, id: content }) satisfies SessionItem;
const asked = (tool_name: string, tool_source: string | null = 'webhook') =>
  ({
    ...{ type: 'tool_call', call_id: 'c1', tool_name, tool_source, input: '{"day":"Friday"}' },
    ...{ turn_id: 1, created_at },
  }) satisfies SessionItem;
const answered: SessionItem = {
  ...{ type: 'tool_result', call_id: 'c1', tool_name: 'book', tool_source: 'webhook', status: 'completed' },
  ...{ output: 'booked', output_truncated: false, error: null, latency_ms: 5, turn_id: 1, created_at },
};
const searched: SessionItem = {
  ...{ type: 'knowledge_retrieval', query: 'q', status: 'completed', latency_ms: 1, citations: [] },
  ...{ turn_id: 1, created_at },
};

describe('the moments at which an agent’s model was asked', () => {
  it('are after words of the caller and after the result of a tool, each with what the agent did next', () => {
    const items = [
      message('assistant', 'Hello!', null),
      message('user', 'A table, please.'),
      searched,
      message('assistant', 'Let me see.'),
      asked('book'),
      answered,
      message('assistant', 'You have a table.'),
    ];
    const call = { tool_name: 'book', arguments: '{"day":"Friday"}' };
    expect(askingPoints(items).map(({ item, answer }) => [item, answer])).toEqual([
      [2, { text: 'Let me see.', calls: [call] }],
      [6, { text: 'You have a table.', calls: [] }],
    ]);
  });

  it('are not where the agent said nothing, or only a line that belongs to no turn', () => {
    const items = [
      message('user', 'Hm.'),
      message('user', 'Are you there?'),
      message('assistant', 'I am here.', 2),
      message('user', 'Wait.'),
      message('assistant', 'Are you still there?', null),
    ];
    expect(askingPoints(items).map(({ item }) => item)).toEqual([2]);
  });

  it('leave out a line after a silence that follows an answer', () => {
    const items = [
      message('user', 'When?'),
      message('assistant', 'At noon.'),
      message('assistant', 'Are you still there?', null),
    ];
    expect(askingPoints(items)[0]?.answer.text).toBe('At noon.');
  });

  it('are not where a colleague answered, or where the call was transferred', () => {
    const colleague = [message('user', 'Hello?'), message('human', 'I take over.', null)];
    const transferred = [message('user', 'A person!'), asked('_transfer_call', 'builtin')];
    expect([...askingPoints(colleague), ...askingPoints(transferred)]).toEqual([]);
  });

  it('are where the agent hung up: a draft may do so, too', () => {
    const items = [message('user', 'Bye.'), asked('_hang_up_call', 'builtin')];
    expect(askingPoints(items)[0]?.answer.calls[0]?.tool_name).toBe('_hang_up_call');
  });

  it('say how much text stood before each, and read each entry a few times, however long a call is', () => {
    let reads = 0;
    const counted = (item: ReturnType<typeof message>) => ({
      ...item,
      get content() {
        reads += 1;
        return item.content;
      },
    });
    const items = Array.from({ length: 1_000 }, (_, turn) => [
      counted(message('user', 'Four', turn)),
      counted(message('assistant', 'Yes', turn)),
    ]).flat();
    const points = askingPoints(items);
    expect(points.map(({ bytes }) => bytes).slice(0, 3)).toEqual([4, 11, 18]);
    expect(points).toHaveLength(1_000);
    expect(reads).toBeLessThan(5 * items.length);
  });

  it('end where the call before them is longer than a question may be', () => {
    const turn = (words: string) => [message('user', words), message('assistant', 'Yes.')];
    const wordy = [...turn('One.'), ...turn('x'.repeat(1_048_576)), ...turn('Three.')];
    expect(askingPoints(wordy).map(({ item }) => item)).toEqual([1]);
    const long = Array.from({ length: 3_000 }, () => turn('Next.')).flat();
    expect(askingPoints(long)).toHaveLength(2_000);
  });
});

/** Page tools, and the transcript kept by the browser client. */
import { describe, expect, it } from 'vitest';
import { ClientTools } from '../../web/client/client-tools.ts';
import { Transcript } from '../../web/client/transcript.ts';

const LONG_MS = 60_000;

describe('client tools', () => {
  it('return the value that the function returns or resolves to', async () => {
    const tools = new ClientTools({ add: ({ a, b }) => Number(a) + Number(b) }, LONG_MS);
    tools.register('later', async () => ({ done: true }));
    expect(await tools.call('add', { a: 1, b: 2 })).toEqual({ result: 3 });
    expect(await tools.call('later', {})).toEqual({ result: { done: true } });
  });

  it('fail with tool_failed when they throw or do not exist', async () => {
    const tools = new ClientTools(
      {
        broken: () => {
          throw new Error('no such table');
        },
      },
      LONG_MS,
    );
    expect(await tools.call('broken', {})).toMatchObject({
      error: { code: 'tool_failed', message: 'no such table' },
    });
    expect(await tools.call('absent', {})).toMatchObject({
      error: { code: 'tool_failed', message: expect.stringContaining('absent') },
    });
  });

  it('fail with tool_timeout when they take too long', async () => {
    const tools = new ClientTools({ never: () => new Promise(() => undefined) }, 1);
    expect(await tools.call('never', {})).toMatchObject({ error: { code: 'tool_timeout' } });
  });

  it('report a result above 60,000 characters to the agent as an error', async () => {
    const tools = new ClientTools({ much: () => 'x'.repeat(60_001) }, LONG_MS);
    expect(await tools.call('much', {})).toMatchObject({ error: { code: 'tool_failed' } });
  });
});

describe('the transcript', () => {
  const segment = (text: string, final: boolean) => ({
    segmentId: 's1',
    role: 'agent' as const,
    text,
    final,
  });

  it('grows by deltas, replaces words heard differently, and removes words that were not heard', () => {
    const transcript = new Transcript();
    expect(transcript.put(segment('Good', false))).toBe('Good');
    expect(transcript.put(segment('Good evening', false))).toBe(' evening');
    expect(transcript.put(segment('Hello', true))).toBe('Hello');
    expect(transcript.all()).toEqual([segment('Hello', true)]);
    transcript.put(segment('', true));
    expect(transcript.all()).toEqual([]);
  });

  it('keeps the order in which the segments of both sides began', () => {
    const transcript = new Transcript();
    transcript.put({ segmentId: '1', role: 'user', text: 'Hi', final: false });
    transcript.put({ segmentId: '1', role: 'agent', text: 'Hello', final: true });
    transcript.put({ segmentId: '1', role: 'user', text: 'Hi there', final: true });
    expect(transcript.all().map(({ role, text }) => `${role}: ${text}`)).toEqual([
      'user: Hi there',
      'agent: Hello',
    ]);
  });
});

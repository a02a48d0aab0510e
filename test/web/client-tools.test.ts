/** Tools of the page and the transcript the browser client keeps. */
import { describe, expect, it } from 'vitest';
import { ClientTools } from '../../web/client/client-tools.ts';
import { Transcript } from '../../web/client/transcript.ts';

const LONG_MS = 60_000;

describe('client tools', () => {
  it('a tool’s result is what it returns or resolves to', async () => {
    const tools = new ClientTools({ add: ({ a, b }) => Number(a) + Number(b) }, LONG_MS);
    tools.register('later', async () => ({ done: true }));
    expect(await tools.call('add', { a: 1, b: 2 })).toEqual({ result: 3 });
    expect(await tools.call('later', {})).toEqual({ result: { done: true } });
  });

  it('what a tool throws, and a tool that is not there, is tool_failed', async () => {
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

  it('a tool that takes too long is tool_timeout', async () => {
    const tools = new ClientTools({ never: () => new Promise(() => undefined) }, 1);
    expect(await tools.call('never', {})).toMatchObject({ error: { code: 'tool_timeout' } });
  });

  it('a result above 60,000 characters is an error the agent is told', async () => {
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

  it('grows by deltas, replaces what was heard differently, and forgets what was not heard at all', () => {
    const transcript = new Transcript();
    expect(transcript.put(segment('Good', false))).toBe('Good');
    expect(transcript.put(segment('Good evening', false))).toBe(' evening');
    expect(transcript.put(segment('Hello', true))).toBe('Hello');
    expect(transcript.all()).toEqual([segment('Hello', true)]);
    transcript.put(segment('', true));
    expect(transcript.all()).toEqual([]);
  });

  it('keeps the order in which segments began, of both sides', () => {
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

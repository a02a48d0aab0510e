import { describe, expect, it } from 'vitest';
import { DEMO_PHRASES } from '#config/demo-phrases.ts';
import { answerTo, createDemoModel } from '#runtime/llm/demo.ts';
import type { ChatMessage, ChatRequest } from '#runtime/llm/llm.ts';
import { collect } from '#test/collect.ts';

/** Talks to the demo and maintains the conversation as the turn loop would. */
function talk(...said: readonly string[]): string[] {
  const messages: ChatMessage[] = [];
  return said.map((content) => {
    messages.push({ role: 'user', content });
    const answer = answerTo(messages);
    messages.push({ role: 'assistant', content: answer });
    return answer;
  });
}

function request(over: Partial<ChatRequest>): ChatRequest {
  const signal = new AbortController().signal;
  return {
    messages: [],
    tools: [],
    maxOutputTokens: null,
    sessionId: 's',
    endUserId: null,
    extraBody: null,
    speculative: false,
    signal,
    ...over,
  };
}

describe('local/demo', () => {
  it('greets and says that it is not a language model', () => {
    expect(answerTo([{ role: 'system', content: 'Greet the caller.' }])).toMatch(
      /not a large language model/,
    );
  });

  it('answers events of the call as events, not as speech', () => {
    expect(answerTo([{ role: 'user', content: '[The call has just begun. Greet the caller.]' }])).toMatch(
      /not a large language model/,
    );
    expect(answerTo([{ role: 'user', content: '[The caller has said nothing for a while. Ask.]' }])).toBe(
      'Are you still there?',
    );
    expect(
      talk('book a table', '[The background tool check has answered: ok]', 'for two people').at(-1),
    ).toMatch(/two.*which day/i);
  });

  it('books a table slot by slot', () => {
    const answers = talk('I would like to book a table.', 'For two people.', 'Tomorrow', 'at seven');
    expect(answers[0]).toMatch(/how many/);
    expect(answers[1]).toMatch(/two.*which day/i);
    expect(answers[2]).toMatch(/what time/);
    expect(answers[3]).toMatch(/table for two.*tomorrow at seven/);
  });

  it('fills all slots from one sentence', () => {
    expect(talk('book a table for four people on friday at eight')[0]).toMatch(
      /table for four.*friday at eight/,
    );
  });

  it('treats bare numbers as the answer to the open question', () => {
    expect(talk('book a table', 'three', 'sunday', 'nine').at(-1)).toMatch(/table for three.*sunday at nine/);
  });

  it('reads keypad input back', () => {
    expect(talk('Keypad entry: 1234')[0]).toBe('You keyed in 1, 2, 3, 4. Thank you.');
  });

  it('repeats its last reply', () => {
    const [hours, again] = talk('what are your opening hours', 'please repeat that');
    expect(again).toBe(hours);
  });

  it('takes the time only from its context', () => {
    const user: ChatMessage = { role: 'user', content: 'what time is it' };
    expect(answerTo([user])).toMatch(/no clock/);
    expect(
      answerTo([
        { role: 'system', content: 'It is now Monday, 2 January 2026 at 2:05\u202fPM (UTC).' },
        user,
      ]),
    ).toBe('It is 2:05\u202fPM.');
  });

  it('has a distinct answer to every listed phrase except bare booking details', () => {
    const details = ['party_size', 'day', 'hour', 'digit'];
    for (const [intent, phrases] of Object.entries(DEMO_PHRASES)) {
      if (details.includes(intent)) continue;
      for (const phrase of phrases) expect(talk(phrase)[0], phrase).not.toMatch(/did not understand/);
    }
  });

  it('explains what it can do when it does not understand', () => {
    expect(talk('colourless green ideas')[0]).toMatch(/rule-based demo and did not understand/);
  });

  it('streams word by word and hangs up after a goodbye if permitted', async () => {
    const hangUp = { name: '_hang_up_call', description: '', arguments: [] };
    const messages: ChatMessage[] = [{ role: 'user', content: 'goodbye' }];
    const deltas = await collect(createDemoModel().stream(request({ messages, tools: [hangUp] })));
    expect(deltas.filter((delta) => delta.type === 'text').length).toBeGreaterThan(3);
    expect(deltas.at(-2)).toMatchObject({ type: 'tool_call', call: { toolName: '_hang_up_call' } });
    const without = await collect(createDemoModel().stream(request({ messages })));
    expect(without.some((delta) => delta.type === 'tool_call')).toBe(false);
  });

  it('stops at once when aborted', async () => {
    const abort = new AbortController();
    const run = async () => {
      for await (const _ of createDemoModel().stream(request({ signal: abort.signal })))
        abort.abort(new Error('interrupted'));
    };
    await expect(run()).rejects.toThrow('interrupted');
  });
});

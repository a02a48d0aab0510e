import { describe, expect, it } from 'vitest';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { answered, called } from './reply-facts.ts';
import { TurnScript } from './turn-script.ts';

describe('tools', () => {
  it('blocking: the model is asked again with the result, after its first words', () => {
    const script = TurnScript.listening().say('is there a table');
    script.take(
      { type: 'reply.piece', replyId: 'r1', text: 'Let me look.' },
      called('r1', 'look_up', 'blocking'),
      {
        type: 'reply.generated',
        replyId: 'r1',
      },
    );
    script.take(
      { type: 'reply.audible', replyId: 'r1' },
      { type: 'playout.started', replyId: 'r1', wireMs: script.nowMs },
      answered('yes'),
    );
    expect(script.asked()).toEqual(['user: is there a table', 'assistant: Let me look.', 'tool: yes']);
    script.take(
      { type: 'reply.piece', replyId: 'r2', text: 'There is.' },
      { type: 'reply.generated', replyId: 'r2' },
      { type: 'reply.audible', replyId: 'r2' },
    );
    expect(script.all('play').map(({ replyId }) => replyId)).not.toContain('r2');
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'Let me look.' });
    expect(script.last('play')?.replyId).toBe('r2');
  });

  it('a slow blocking tool gets a filler, once', () => {
    const script = TurnScript.listening().say('is there a table');
    script.take(called('r1', 'look_up', 'blocking'), { type: 'reply.generated', replyId: 'r1' }).after(1_600);
    expect(script.all('say')).toHaveLength(1);
  });

  it('a blocking tool that outlasts the words before it gets a filler, and they are not repeated', () => {
    const script = TurnScript.listening().say('is there a table');
    script.take(
      { type: 'reply.piece', replyId: 'r1', text: 'Let me look.' },
      called('r1', 'look_up', 'blocking'),
      {
        type: 'reply.generated',
        replyId: 'r1',
      },
    );
    script.take(
      { type: 'reply.audible', replyId: 'r1' },
      { type: 'playout.started', replyId: 'r1', wireMs: script.nowMs },
    );
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'Let me look.' }).after(1_600);
    expect(script.all('say')).toHaveLength(1);
    script.take({ type: 'playout.finished', replyId: 'r2', heard: 'One moment.' }).after(100);
    expect(script.all('play').map(({ replyId }) => replyId)).toEqual(['r1', 'r2']);
    script.take(answered('yes'));
    expect(script.last('play')?.replyId).toBe('r3');
  });

  it('a tool the greeting calls during ringing runs once the caller is connected', () => {
    const script = new TurnScript({
      greeting: { mode: 'generate', instruction: 'Greet.', fallback: 'Hi there.' },
    }).take({ type: 'call.started' });
    script.take(
      { type: 'reply.piece', replyId: 'r1', text: 'Hello!' },
      called('r1', 'notify', 'fire_and_forget'),
      {
        type: 'reply.generated',
        replyId: 'r1',
      },
    );
    expect(script.all('runTool')).toHaveLength(0);
    script.take({ type: 'call.connected' }, { type: 'reply.audible', replyId: 'r1' });
    expect(script.all('runTool')).toHaveLength(1);
  });

  it('the refusal of the 11th concurrent background call is awaited and passed to the model', () => {
    const script = TurnScript.listening().say('order it');
    for (let count = 1; count <= 11; count++) {
      const call = { callId: `bg${count}`, toolName: 'order', input: `{"count":"${count}"}` };
      script.take({
        type: 'reply.tool_called',
        replyId: 'r1',
        call,
        mode: 'background',
        source: 'background',
      });
    }
    script.take({ type: 'reply.generated', replyId: 'r1' });
    expect(script.all('generate')).toHaveLength(1);
    script.take({
      type: 'tool.finished',
      callId: 'bg11',
      status: 'failed',
      output: null,
      outputTruncated: false,
      error: 'full',
      latencyMs: 0,
      modelText: 'too many',
    });
    expect(script.asked().at(-1)).toBe('tool: too many');
    expect(script.asked().filter((line) => /^tool: Running in the background/.test(line))).toHaveLength(10);
  });

  it('fire_and_forget does not wait; a background result starts a turn when the floor is free', () => {
    const script = TurnScript.listening().say('order it');
    script.take(called('r1', 'order', 'background'), { type: 'reply.generated', replyId: 'r1' });
    expect(script.asked().at(-1)).toMatch(/^tool: Running in the background/);
    script.answer('It is on its way.').take(answered('order 7'));
    expect(script.all('generate')).toHaveLength(2);
    script.take({ type: 'playout.finished', replyId: 'r2', heard: 'It is on its way.' });
    expect(script.asked().at(-1)).toBe('user: [The background tool order has answered: order 7]');
  });
});

describe('tool use by models', () => {
  const asked = () => TurnScript.listening().say('book a table');
  const words = (replyId: string, text: string): TurnFact[] => [
    { type: 'reply.token', replyId },
    { type: 'reply.piece', replyId, text },
  ];

  it('a duplicate call in one reply runs once, and the model is notified', () => {
    const script = asked();
    const again = {
      ...called('r1', 'book', 'blocking'),
      call: { callId: 'c2', toolName: 'book', input: '{}' },
    } as TurnFact;
    script.take(
      called('r1', 'book', 'blocking'),
      again,
      { type: 'reply.generated', replyId: 'r1' },
      answered('booked'),
    );
    expect(script.all('runTool').map(({ call }) => call.callId)).toEqual(['c1']);
    expect(script.asked().slice(-2)).toEqual([
      'tool: booked',
      'tool: The same call as before; it runs once.',
    ]);
  });

  it('an empty answer after tools is not a failure if the model spoke before them: the turn ends', () => {
    const script = asked();
    script.take(...words('r1', 'I have noted it.'), called('r1', 'book', 'fire_and_forget'), {
      type: 'reply.generated',
      replyId: 'r1',
    });
    script.take(
      { type: 'reply.audible', replyId: 'r1' },
      { type: 'playout.started', replyId: 'r1', wireMs: script.nowMs },
    );
    script.take({ type: 'reply.generated', replyId: 'r2' });
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'I have noted it.' });
    expect(script.state.phase.is).toBe('listening');
    expect(script.all('generate')).toHaveLength(2);
    expect(script.timeline()).toEqual(['user: book a table', 'assistant: I have noted it.']);
  });

  it('a blocking tool the caller no longer waits for is cancelled; its end is still reported', () => {
    const script = asked();
    script.take(
      called('r1', 'book', 'blocking'),
      { type: 'reply.generated', replyId: 'r1' },
      { type: 'user.interrupted' },
    );
    expect(script.all('cancelTool').map(({ callId }) => callId)).toEqual(['c1']);
    script.take({ ...answered(''), status: 'failed', error: 'the caller interrupted' } as TurnFact);
    expect(script.all('event').map(({ event }) => event.type)).toContain('tool.failed');
    expect(script.say('and now?').asked().at(-2)).toMatch(/^tool: Cancelled/);
  });
});

describe('hanging up', () => {
  it('is a barrier: the closing words play to their end, and caller speech is ignored', () => {
    const script = TurnScript.listening().say('bye');
    script.take(
      { type: 'reply.piece', replyId: 'r1', text: 'Goodbye!' },
      called('r1', '_hang_up_call', 'hang_up'),
      {
        type: 'reply.generated',
        replyId: 'r1',
      },
    );
    script.take(
      { type: 'reply.audible', replyId: 'r1' },
      { type: 'playout.started', replyId: 'r1', wireMs: script.nowMs },
    );
    script.voice(500).take({ type: 'transcript.final', text: 'wait' }, { type: 'user.interrupted' });
    expect(script.all('hangUp').length + script.all('clear').length).toBe(0);
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'Goodbye!' });
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
    expect(script.timeline()).toEqual(['user: bye', 'assistant: Goodbye!']);
  });

  it.each([
    ['generated', '{"farewell":"So long."}', ['So long.']],
    ['generated', '{}', ['Goodbye.']],
    ['fixed', '{"farewell":"So long."}', ['Thank you.']],
    ['off', '{}', []],
  ] as const)('farewell %s with %s says %j', (mode, input, said) => {
    const script = TurnScript.listening({ hangUpFarewell: { mode, message: 'Thank you.' } }).say('bye');
    script.take(called('r1', '_hang_up_call', 'hang_up', input), { type: 'reply.generated', replyId: 'r1' });
    expect(script.all('say').map(({ text }) => text)).toEqual(said);
    expect(script.all('hangUp')).toHaveLength(said.length === 0 ? 1 : 0);
  });

  it('refuse_questions: a closing question is asked, and the call continues', () => {
    const script = TurnScript.listening({ hangUpRefuseQuestions: true }).say('bye');
    script.take(
      { type: 'reply.piece', replyId: 'r1', text: 'Anything else?' },
      called('r1', '_hang_up_call', 'hang_up'),
      {
        type: 'reply.generated',
        replyId: 'r1',
      },
    );
    script.take(
      { type: 'reply.audible', replyId: 'r1' },
      { type: 'playout.finished', replyId: 'r1', heard: 'Anything else?' },
    );
    expect(script.all('hangUp')).toHaveLength(0);
    expect(script.state.phase.is).toBe('listening');
  });

  it('a farewell that is never played does not keep the call open', () => {
    const script = TurnScript.listening()
      .take({ type: 'end.requested', reason: 'user_hangup', sayGoodbye: true })
      .after(9_000);
    expect(script.last('hangUp')?.reason).toBe('user_hangup');
  });
});

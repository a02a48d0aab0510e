import { describe, expect, it } from 'vitest';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { TurnScript } from './turn-script.ts';

const failed = (replyId: string, isRetryable = true): TurnFact => ({
  type: 'reply.failed',
  replyId,
  stage: 'model',
  message: 'overloaded',
  status: 503,
  isRetryable,
});
const called = (
  replyId: string,
  toolName: string,
  mode: 'blocking' | 'fire_and_forget' | 'background' | 'hang_up',
  input = '{}',
): TurnFact => ({
  type: 'reply.tool_called',
  replyId,
  call: { callId: 'c1', toolName, input },
  mode,
  source: mode === 'hang_up' ? 'builtin' : 'webhook',
});
const answered = (modelText: string): TurnFact => ({
  type: 'tool.finished',
  callId: 'c1',
  status: 'completed',
  output: modelText,
  outputTruncated: false,
  error: null,
  latencyMs: 100,
  modelText,
});

describe('first message', () => {
  it('off: the agent waits', () => {
    expect(TurnScript.listening().all('say')).toHaveLength(0);
  });

  it('fixed: it is synthesised before the caller connects and played at once', () => {
    const script = new TurnScript({ greeting: { mode: 'say', text: 'Hello!' } }).take({
      type: 'call.started',
    });
    expect(script.all('say').map(({ text }) => text)).toEqual(['Hello!']);
    expect(script.all('play')).toHaveLength(0);
    script.take({ type: 'call.connected' });
    expect(script.last('play')?.replyId).toBe('r1');
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'Hello!' });
    expect(script.timeline()).toEqual(['assistant: Hello!']);
  });

  it('prompt: it is generated, and the fixed text is said when the model fails', () => {
    const script = new TurnScript({
      greeting: { mode: 'generate', instruction: 'Greet.', fallback: 'Hi there.' },
    }).take({ type: 'call.started' }, { type: 'call.connected' });
    expect(script.asked()).toEqual(['user: [The call has just begun. Greet.]']);
    script.take(failed('r1'), failed('r2'));
    expect(script.all('say').map(({ text }) => text)).toEqual(['Hi there.']);
  });
});

describe('a greeting that does not arrive', () => {
  it('is replaced by the fixed text before the caller has waited 4 s', () => {
    const script = new TurnScript({
      greeting: { mode: 'generate', instruction: 'Greet.', fallback: 'Hi there.' },
    }).take({ type: 'call.started' }, { type: 'call.connected' });
    script.after(4_000);
    expect(script.all('say').map(({ text }) => text)).toEqual(['Hi there.']);
    expect(script.all('discard').map(({ replyId }) => replyId)).toEqual(['r1']);
  });
});

describe('speculation', () => {
  const speculating = () =>
    TurnScript.listening({ speculative: true })
      .voice(600)
      .take({ type: 'transcript.interim', text: 'book a table' })
      .after(250);

  it('starts at the judgement, plays and runs nothing, and is used if the words stay the same', () => {
    const script = speculating();
    expect(script.last('generate')).toMatchObject({ replyId: 'r1', isSpeculative: true });
    script.take({ type: 'reply.token', replyId: 'r1' }, called('r1', 'look_up', 'blocking'));
    expect(script.all('play').length + script.all('runTool').length + script.timeline().length).toBe(0);
    script.take({ type: 'transcript.final', text: 'Book a table.' }).after(500);
    expect(script.all('generate')).toHaveLength(1);
    expect(script.all('commit').map(({ replyId }) => replyId)).toEqual(['r1']);
    expect(script.all('runTool')).toHaveLength(1);
  });

  it('is discarded when the words change, at most three times per turn', () => {
    const script = speculating();
    for (const text of [
      'book a table for',
      'book a table for two',
      'book a table for two people',
      'book a table for two people please',
    ])
      script.take({ type: 'transcript.interim', text });
    expect(script.all('generate').filter(({ isSpeculative }) => isSpeculative)).toHaveLength(3);
    script.after(2_000);
    expect(script.last('generate')).toMatchObject({ isSpeculative: false });
  });

  describe('when the recogniser has returned its last final quickly', () => {
    /**
     * The first turn's words were finalised `tookMs` after the request; a second turn has just been judged.
     */
    const afterFinalIn = (tookMs: number) => {
      const script = speculating()
        .at(600 + 200 + tookMs)
        .take({ type: 'transcript.final', text: 'Book a table.' }, { type: 'transcript.finalised' });
      script
        .after(1_500)
        .answer('For when?')
        .take({ type: 'playout.finished', replyId: 'r1', heard: 'For when?' });
      return script.voice(600).take({ type: 'transcript.interim', text: 'for next' }).after(200);
    };
    const speculations = (script: TurnScript) =>
      script
        .all('generate')
        .flatMap(({ isSpeculative, messages }) => (isSpeculative ? [messages.at(-1)?.content] : []));

    it('waits for the final, to avoid a start on words that change', () => {
      const script = afterFinalIn(10);
      expect(speculations(script)).toEqual(['book a table']);
      script.after(10).take({ type: 'transcript.final', text: 'For next Friday.' });
      expect(speculations(script)).toEqual(['book a table', 'For next Friday.']);
      expect(script.all('discard')).toEqual([]);
    });

    it('starts on the available words when the final does not arrive within 40 ms', () => {
      const script = afterFinalIn(10);
      expect(speculations(script.after(39))).toEqual(['book a table']);
      expect(speculations(script.after(1))).toEqual(['book a table', 'for next']);
    });

    it('no longer waits once a final was late', () => {
      expect(speculations(afterFinalIn(45))).toEqual(['book a table', 'for next']);
    });

    it('no longer waits once a turn ended without a final', () => {
      const script = afterFinalIn(10);
      script
        .after(2_000)
        .answer('Which day?')
        .take({
          type: 'playout.finished',
          replyId: script.last('generate')?.replyId ?? '',
          heard: 'Which day?',
        });
      script.voice(600).take({ type: 'transcript.interim', text: 'friday' }).after(200);
      expect(speculations(script).at(-1)).toBe('friday');
    });
  });
});

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

describe('silence', () => {
  it('ends the call after hangup_after_seconds, with the farewell if it is on', () => {
    const script = TurnScript.listening({ hangupAfterMs: 10_000, idleFarewell: true }).after(10_000);
    expect(script.all('say').map(({ text }) => text)).toEqual(['Goodbye.']);
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'Goodbye.' });
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
  });

  it('reengage: prompts the caller twice before, and only quiet counts', () => {
    const script = TurnScript.listening({ hangupAfterMs: 30_000, reengage: true }).after(10_000);
    expect(script.asked().at(-1)).toMatch(/^user: \[The caller has said nothing/);
    script
      .after(1_000)
      .answer('Are you there?')
      .after(2_000)
      .take({ type: 'playout.finished', replyId: 'r1', heard: 'Are you there?' });
    script.after(9_999);
    expect(script.all('generate')).toHaveLength(1);
    script
      .after(1)
      .answer('Hello?')
      .take({ type: 'playout.finished', replyId: 'r2', heard: 'Hello?' })
      .after(9_999);
    expect(script.all('hangUp')).toHaveLength(0);
    script.after(1);
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
  });

  it('restarts on user.activity', () => {
    const script = TurnScript.listening({ hangupAfterMs: 10_000 })
      .after(9_000)
      .take({ type: 'user.active' })
      .after(9_000);
    expect(script.all('hangUp')).toHaveLength(0);
    script.after(1_000);
    expect(script.all('hangUp')).toHaveLength(1);
  });

  it('max_duration_seconds ends the call as conversation_timeout', () => {
    const script = TurnScript.listening({ maxDurationMs: 60_000, hangupAfterMs: 3_600_000 }).after(60_000);
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'Our time is up.' });
    expect(script.last('hangUp')?.reason).toBe('conversation_timeout');
  });
});

describe('failure', () => {
  it('a failed generation is retried once; then the caller is notified and the call continues', () => {
    const script = TurnScript.listening().say('hello').take(failed('r1'));
    expect(script.all('generate')).toHaveLength(2);
    script.take(failed('r2'));
    expect(script.all('say')).toHaveLength(1);
    expect(script.all('record').filter(({ item }) => item.type === 'llm.endpoint_error')).toHaveLength(2);
  });

  it('three failed generations in a row end the call with an apology', () => {
    const script = TurnScript.listening();
    for (let turn = 0; turn < 3; turn++) {
      script.say('hello');
      script.take(failed(script.last('generate')?.replyId ?? '', false));
      const replyId = script.last('say')?.replyId ?? '';
      script.take({ type: 'playout.finished', replyId, heard: 'Sorry.' }).after(100);
    }
    expect(script.last('hangUp')?.reason).toBe('llm_endpoint_failure');
  });

  it('the caller never hears more than 4 s of silence: one hold line is said, then the answer', () => {
    const script = TurnScript.listening().voice(600).take({ type: 'transcript.final', text: 'hello.' });
    const endMs = script.nowMs;
    script.after(3_500);
    expect(script.all('say').map(({ atMs }) => atMs - endMs)).toEqual([3_000]);
    script.take(
      { type: 'reply.piece', replyId: 'r1', text: 'Hi.' },
      { type: 'reply.generated', replyId: 'r1' },
      { type: 'reply.audible', replyId: 'r1' },
    );
    script.take({ type: 'playout.finished', replyId: 'r2', heard: 'One moment, please.' });
    expect(script.last('play')?.replyId).toBe('r1');
  });

  it('a silent model is given up at its limit, and the caller hears a word every 4 s until then', () => {
    const script = TurnScript.listening().say('hello');
    let quietMs = 600;
    for (let line = 0; line < 3; line++) {
      const before = script.all('say').length;
      while (script.all('say').length === before) script.after(100);
      expect(script.nowMs - quietMs).toBeLessThan(4_000);
      const { replyId = '', text = '' } = script.last('say') ?? {};
      script.take(
        { type: 'reply.audible', replyId },
        { type: 'playout.started', replyId, wireMs: script.nowMs },
      );
      script.after(1_000).take({ type: 'playout.finished', replyId, heard: text });
      quietMs = script.nowMs;
    }
    expect(script.all('discard').map(({ replyId }) => replyId)).toEqual(['r1']);
    expect(script.all('generate')).toHaveLength(2);
  });

  it('speech without words is asked for again, whether or not it contains a breath', () => {
    const script = TurnScript.listening().voice(500).after(1_100).voice(500);
    const endMs = script.nowMs;
    script.after(5_000);
    expect(script.last('say')).toMatchObject({
      text: script.state.config.phrases.trouble,
      atMs: endMs + 3_500,
    });
    // Sounds that are each too short to be words are not added up.
    const coughs = TurnScript.listening().voice(500).after(10_000).voice(500).after(10_000);
    expect(coughs.last('say')).toBeUndefined();
  });

  it('a lost recogniser is reopened, more slowly after 3 failures, and given up on permanent refusal', () => {
    const script = TurnScript.listening();
    const lost: TurnFact = { type: 'recognizer.failed', isRetryable: true };
    script.take(lost, lost, lost, lost);
    expect(script.all('openRecognizer')).toHaveLength(4);
    script.after(2_000);
    expect(script.all('openRecognizer')).toHaveLength(5);
    // When the caller speaks, the next attempt is not delayed.
    script.take(lost).after(500).voice(300);
    expect(script.all('openRecognizer')).toHaveLength(6);
    script.after(2_000);
    expect(script.all('openRecognizer')).toHaveLength(6);
    script.take({ type: 'recognizer.failed', isRetryable: false }).voice(800);
    expect(script.last('say')?.text).toMatch(/can't understand speech/);
  });
});

describe('keys and typed messages', () => {
  const keypad = { terminator: '#', interDigitMs: 2_000 };
  const press = (script: TurnScript, digits: string) =>
    script.take(...[...digits].map((digit) => ({ type: 'digit.pressed' as const, digit })));

  it('keypad_input: digits are one turn at the terminator or after the inter-digit timeout', () => {
    expect(press(TurnScript.listening({ keypad }), '1234#').asked()).toEqual(['user: Keypad entry: 1234']);
    const slow = press(TurnScript.listening({ keypad }), '12').after(1_900);
    expect(press(slow, '3').after(1_999).all('generate')).toHaveLength(0);
    expect(slow.after(1).asked()).toEqual(['user: Keypad entry: 123']);
  });

  it('a hold line is due 3 s after the last key, but not before the model has had its minimum time', () => {
    const script = press(TurnScript.listening({ keypad }), '12');
    expect(script.after(3_499).all('say')).toHaveLength(0);
    expect(script.after(1).last('say')?.text).toBe('One moment, please.');
    expect(script.all('explain').map(({ decision }) => decision)).toContainEqual(
      expect.objectContaining({ rule: 'hold_line', anchorMs: script.nowMs - 3_500 }),
    );
  });

  it('a lone terminator is not a turn, and digits are ignored while keypad input is off', () => {
    expect(press(TurnScript.listening({ keypad }), '#').after(5_000).all('generate')).toHaveLength(0);
    expect(press(TurnScript.listening(), '12#').all('generate')).toHaveLength(0);
  });

  it('the first digit stops the agent', () => {
    const script = press(TurnScript.speaking('The table is booked.', { keypad }), '1');
    expect(script.all('clear')).toHaveLength(1);
  });

  it('a lone terminator does not stop the agent, because no reply would follow', () => {
    const script = press(TurnScript.speaking('The table is booked.', { keypad }), '#');
    expect(script.all('clear')).toHaveLength(0);
  });

  it('user.message interrupts and is answered, in writing if it asks for no audio', () => {
    const script = TurnScript.speaking().take({ type: 'user.message', text: 'typed', wantsAudio: false });
    script.take({ type: 'playout.cleared', replyId: 'r1', heard: 'The', isExact: true });
    expect(script.last('generate')).toMatchObject({ isSpoken: false });
    expect(script.asked().at(-1)).toBe('user: typed');
    expect(
      script.all('event').some(({ event }) => event.type === 'transcript' && event.text === 'typed'),
    ).toBe(false);
  });

  it('speech on a call without a recogniser is answered once with a note', () => {
    const script = TurnScript.listening({ recognition: { has: 'none', finalWithinMs: 0 } }).voice(800);
    script
      .take({ type: 'playout.finished', replyId: 'r1', heard: 'Sorry.' })
      .after(500)
      .voice(800)
      .after(3_000);
    expect(script.all('say')).toHaveLength(1);
  });
});

describe('the waterfall of a turn', () => {
  it('consists of parts on the critical path that add up to the turn’s time', () => {
    const script = TurnScript.listening({ responseWaitMs: 500 }).voice(600);
    const endMs = script.nowMs;
    script.after(700).take({ type: 'transcript.final', text: 'hello' });
    script.after(300).take({ type: 'reply.token', replyId: 'r1' });
    script.after(40).take({ type: 'reply.piece', replyId: 'r1', text: 'Hi.' });
    script
      .after(60)
      .take(
        { type: 'reply.audible', replyId: 'r1' },
        { type: 'playout.started', replyId: 'r1', wireMs: script.nowMs + 15 },
      );
    expect(script.last('reportTurn')?.waterfall).toEqual({
      turn_id: 1,
      speechEndMs: endMs,
      endpoint_ms: 500,
      transcript_ms: 200,
      first_token_ms: 300,
      first_sentence_ms: 40,
      first_audio_ms: 60,
      playout_ms: 15,
      total_ms: 1_115,
      endpoint_rule: 'plain',
      speculative: false,
    });
  });
});

it('the end of the leg ends the call, as cancelled if it comes before anyone joined', () => {
  const closed: TurnFact = { type: 'leg.closed', reason: 'remote' };
  expect(new TurnScript().take({ type: 'call.started' }, closed).last('hangUp')?.reason).toBe('cancelled');
  expect(TurnScript.listening().take(closed).last('hangUp')?.reason).toBe('user_hangup');
});

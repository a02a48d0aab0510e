import { describe, expect, it } from 'vitest';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { failed } from './reply-facts.ts';
import { TurnScript } from './turn-script.ts';

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

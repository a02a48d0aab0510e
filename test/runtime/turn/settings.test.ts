/**
 * Conversation settings at both ends of their ranges, from the agent's configuration to what the caller
 * notices. docs/turn-taking.md lists them.
 */
import { describe, expect, it } from 'vitest';
import { stablePrompt, systemMessages } from '#runtime/prompt/prompt.ts';
import { turnConfig } from '#runtime/turn/machine/turn-config.ts';
import { testPlan } from '../test-plan.ts';
import { configOf, conversation } from './settings-script.ts';
import { TurnScript } from './turn-script.ts';

const speaking = (settings: object) =>
  TurnScript.speaking('The table is booked for two.', configOf({ conversation: settings }));

/** Time from the end of speech until the words are answered, ms. */
function answeredAfter(text: string, settings: object): number {
  const script = conversation({ speculative_response: false, ...settings })
    .voice(600)
    .take({ type: 'transcript.final', text });
  const endMs = script.nowMs;
  script.after(10_000);
  return (script.all('generate')[0]?.atMs ?? Number.NaN) - endMs;
}

it('final words are requested 200 ms after the end of speech and awaited for the engine’s limit', () => {
  expect(configOf({}).recognition).toEqual({ has: 'interims', finalWithinMs: 500 });
});

describe('when the agent answers', () => {
  it.each([300, 2_000])('response_wait_ms %i', (wait) => {
    expect(answeredAfter('Book a table.', { response_wait_ms: wait })).toBe(wait);
  });

  it.each([
    [0, 550],
    [4_000, 4_000],
    [null, 1_650],
  ])('response_max_wait_ms %s: an unfinished turn ends after %i ms', (max, wait) => {
    expect(answeredAfter('book a table and', { response_max_wait_ms: max })).toBe(wait);
  });

  it.each([
    ['eager', 'tomorrow,', 550],
    ['balanced', 'tomorrow,', 1_375],
    ['balanced', 'book a table', 550],
    ['relaxed', 'book a table', 1_375],
    ['relaxed', 'Book a table.', 550],
  ])('eagerness %s: the turn "%s" ends after %i ms', (eagerness, text, wait) => {
    expect(answeredAfter(text, { eagerness })).toBe(wait);
  });

  it.each([
    [true, true],
    [false, false],
  ])('speculative_response %s', (speculative, isEarly) => {
    const script = conversation({ speculative_response: speculative })
      .voice(600)
      .take({ type: 'transcript.final', text: 'Book a table.' });
    const endMs = script.nowMs;
    script.after(2_000);
    expect(script.all('generate').map(({ atMs, isSpeculative }) => [atMs - endMs, isSpeculative])).toEqual([
      isEarly ? [200, true] : [550, false],
    ]);
  });
});

describe('when the caller interrupts the agent', () => {
  const interrupt = (script: TurnScript, text = 'no wait, for three') =>
    script
      .take({ type: 'voice.started', speechStartMs: script.nowMs })
      .take({ type: 'voice.reached', voicedMs: 512 })
      .take({ type: 'transcript.interim', text });

  it('interruptible true: words stop the agent', () => {
    expect(interrupt(speaking({ interruptible: true })).all('clear')).toHaveLength(1);
  });

  it('interruptible false: the agent talks on, and answers the words afterwards', () => {
    const script = interrupt(speaking({ interruptible: false }));
    expect([...script.all('clear'), ...script.all('pause')]).toEqual([]);
    script.take(
      { type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 600 },
      { type: 'transcript.final', text: 'no wait, for three' },
    );
    script.after(3_000).take({
      type: 'playout.finished',
      replyId: script.last('play')?.replyId ?? '',
      heard: 'The table is booked for two.',
    });
    expect(script.asked().at(-1)).toBe('user: no wait, for three');
  });

  it.each([
    ['high', 128],
    ['balanced', 256],
    ['low', 512],
  ])('interruption_sensitivity %s pauses the agent after %i ms of voice', (sensitivity, reachMs) => {
    expect(conversation({ interruption_sensitivity: sensitivity }).last('watchVoice')?.reachMs).toBe(reachMs);
  });

  it.each([
    ['high', 1],
    ['balanced', 0],
    ['low', 0],
  ])('interruption_sensitivity %s: "yeah okay" interrupts the agent %i times', (sensitivity, cuts) => {
    const script = interrupt(speaking({ interruption_sensitivity: sensitivity }), 'yeah okay').after(3_000);
    expect(script.all('clear')).toHaveLength(cuts);
  });

  it.each([
    [[], 1],
    [['go on please'], 0],
    [Array.from({ length: 50 }, (_, index) => (index === 49 ? 'Go on, please!' : `phrase ${index}`)), 0],
  ])('interruption_ignore_phrases %j: "go on please" cuts the agent off %i times', (phrases, cuts) => {
    const script = interrupt(speaking({ interruption_ignore_phrases: phrases }), 'go on please').after(3_000);
    expect(script.all('clear')).toHaveLength(cuts);
  });
});

describe('when the call ends', () => {
  it.each([10, 3_600])('hangup_after_seconds %i', (seconds) => {
    const script = conversation({ hangup_after_seconds: seconds }).at(seconds * 1_000 - 1);
    expect(script.all('hangUp')).toHaveLength(0);
    script.after(1);
    expect(script.last('hangUp')).toMatchObject({ reason: 'agent_hangup', atMs: seconds * 1_000 });
  });

  it.each([
    [false, []],
    [true, ['Goodbye.']],
  ])('hangup_farewell_enabled %s', (enabled, said) => {
    const script = conversation({ hangup_after_seconds: 10, hangup_farewell_enabled: enabled }).at(10_000);
    expect(script.all('say').map(({ text }) => text)).toEqual(said);
  });

  it.each([
    [false, 10, 0],
    [true, 10, 1],
    [true, 3_600, 2],
  ])(
    'reengage_enabled %s, hangup_after_seconds %i: the silent caller is asked %i times',
    (enabled, seconds, prompts) => {
      const script = conversation({ reengage_enabled: enabled, hangup_after_seconds: seconds });
      for (let asked = 0; asked < 3; asked++) {
        script.after((seconds * 1_000) / 2 - 1_000);
        const { replyId } = script.all('generate')[asked] ?? {};
        if (replyId === undefined) continue;
        script
          .answer('Are you still there?')
          .take({ type: 'playout.finished', replyId, heard: 'Are you still there?' });
      }
      expect(script.all('generate')).toHaveLength(prompts);
    },
  );

  it.each([60, 3_600])('max_duration_seconds %i', (seconds) => {
    const script = conversation({ max_duration_seconds: seconds, hangup_after_seconds: 3_600 });
    script.at(seconds * 1_000 - 1);
    expect(script.all('say')).toHaveLength(0);
    script.after(1);
    expect(script.state.phase).toMatchObject({ is: 'ending', reason: 'conversation_timeout' });
  });
});

describe('first message', () => {
  const first = (prompt: object) => {
    const script = TurnScript.listening(configOf({ prompt }));
    return { said: script.all('say').map(({ text }) => text), asked: script.asked() };
  };

  it.each([
    [{ first_message_mode: 'off' }, { said: [], asked: [] }],
    [
      { first_message_mode: 'fixed', first_message: 'Hello on {{system.channel}}.' },
      { said: ['Hello on phone_inbound.'], asked: [] },
    ],
    [
      { first_message_mode: 'prompt', first_message_prompt: 'Say hello.' },
      { said: [], asked: ['user: [The call has just begun. Say hello.]'] },
    ],
  ])('%j', (prompt, expected) => {
    expect(first(prompt)).toEqual(expected);
  });
});

describe('keypad_input', () => {
  const typed = (settings: object, keys: string, waitMs: number) => {
    const script = conversation({ keypad_input: { enabled: true, ...settings } });
    for (const digit of keys) script.take({ type: 'digit.pressed', digit });
    return script.after(waitMs).asked().at(-1) ?? null;
  };

  it.each([
    [{ terminator: '#' }, '1234#', 0, 'user: Keypad entry: 1234'],
    [{ terminator: '*' }, '12#4*', 0, 'user: Keypad entry: 12#4'],
    [{ terminator: '' }, '12#', 1_999, null],
    [{ terminator: '' }, '12#', 2_000, 'user: Keypad entry: 12#'],
    [{ inter_digit_timeout_seconds: 1 }, '12', 999, null],
    [{ inter_digit_timeout_seconds: 1 }, '12', 1_000, 'user: Keypad entry: 12'],
    [{ inter_digit_timeout_seconds: 10 }, '12', 9_999, null],
    [{ inter_digit_timeout_seconds: 10 }, '12', 10_000, 'user: Keypad entry: 12'],
    [{ enabled: false }, '1234#', 10_000, null],
  ])('%j: %s after %i ms: %s', (settings, keys, waitMs, turn) => {
    expect(typed(settings, keys, waitMs)).toBe(turn);
  });

  it('applies to phone calls only', () => {
    const plan = testPlan({ conversation: { keypad_input: { enabled: true } } });
    const keypadOn = (channel: 'web_voice' | 'phone_inbound' | 'phone_outbound') =>
      turnConfig({ ...plan, channel }, null, (text) => text).keypad !== null;
    expect(
      ['web_voice', 'phone_inbound', 'phone_outbound'].map((channel) => keypadOn(channel as 'web_voice')),
    ).toEqual([false, true, true]);
  });
});

describe('language and time', () => {
  it.each([
    ['en', 'Are you still there?'],
    ['af', 'Is u nog daar?'],
  ])('voice.speaking_language %s', (speaking_language, stillThere) => {
    expect(configOf({ voice: { speaking_language } }).phrases.stillThere).toBe(stillThere);
  });

  it.each([
    ['Pacific/Kiritimati', 'Sunday, November 22, 2026 at 2:30 AM'],
    ['Pacific/Pago_Pago', 'Saturday, November 21, 2026 at 1:30 AM'],
  ])('timezone %s is passed to the agent', (timezone, now) => {
    const plan = testPlan();
    const there = { ...plan, system_variables: { ...plan.system_variables, timezone } };
    const messages = systemMessages(
      stablePrompt(there, (text) => text),
      there,
      Date.UTC(2026, 10, 21, 12, 30),
    );
    expect(messages.at(-1)?.content).toBe(`It is now ${now} (${timezone}).`);
  });
});

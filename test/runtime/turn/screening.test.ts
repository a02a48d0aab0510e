import { describe, expect, it } from 'vitest';
import { type Greeting, type Verdict, whoAnswered } from '#runtime/turn/machine/opening/answering-machine.ts';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import { TurnScript } from './turn-script.ts';

const MESSAGE = 'This is Ann of the bakery, your cake is ready.';

/** An answered outbound call with a prepared greeting. */
function answered(voicemail: TurnConfig['voicemail'], changes: Partial<TurnConfig> = {}): TurnScript {
  return new TurnScript({
    greeting: { mode: 'say', text: 'Hello, this is Ann.' },
    voicemail,
    ...changes,
  }).take({ type: 'call.started' }, { type: 'call.connected' });
}

const HANG_UP = { action: 'hangup', message: '' } as const;
const LEAVE = { action: 'leave_message', message: MESSAGE } as const;
const played = (script: TurnScript) =>
  script.all('play').map(({ replyId }) => script.all('say').find((said) => said.replyId === replyId)?.text);

it('the callee hears a word 3.5 s after speaking or connecting: screening does not extend the wait', () => {
  const answers = {
    greeting: { mode: 'generate', instruction: 'Greet.', fallback: 'Hello, this is Ann.' },
  } as const;
  const saidBy = (script: TurnScript) => script.all('say').map(({ text }) => text);
  const silent = answered(HANG_UP, answers).at(3_499);
  expect(saidBy(silent)).toEqual([]);
  expect(saidBy(silent.at(3_500))).toEqual(['Hello, this is Ann.']);
  const person = answered(HANG_UP, answers).at(600).voice(400).at(4_499);
  expect(saidBy(person)).toEqual([]);
  expect(saidBy(person.at(4_500))).toEqual(['Hello, this is Ann.']);
});

describe('answer screening', () => {
  const heard = (greeting: Partial<Greeting>, nowMs: number) =>
    whoAnswered({ answeredMs: 0, startMs: null, endMs: null, text: '', tone: null, ...greeting }, nowMs);

  it.each<[string, Partial<Greeting>, number, Verdict]>([
    ['"Hello?" and a pause', { startMs: 400, endMs: 900 }, 1_500, { is: 'human', rule: 'short_greeting' }],
    [
      'a long human, who then waits',
      { startMs: 400, endMs: 5_400 },
      6_400,
      { is: 'human', rule: 'short_greeting' },
    ],
    [
      'a very long human, who then waits',
      { startMs: 400, endMs: 12_400 },
      14_400,
      { is: 'human', rule: 'long_greeting' },
    ],
    ['a silent line', {}, 1_500, { is: 'human', rule: 'silence' }],
    [
      'a callee who talks for long: length is no sign of a machine',
      { startMs: 400 },
      30_400,
      { is: 'human', rule: 'long_greeting' },
    ],
    [
      'two hints of a mailbox',
      { startMs: 400, text: "You've reached the mailbox of Ann" },
      3_000,
      { is: 'machine', rule: 'words' },
    ],
    [
      'the words of a mailbox',
      { startMs: 400, text: 'please leave a message after the tone' },
      3_000,
      { is: 'machine', rule: 'words' },
    ],
    [
      'German words',
      { startMs: 400, text: 'Bitte hinterlassen Sie eine Nachricht nach dem Signalton' },
      3_000,
      { is: 'machine', rule: 'words' },
    ],
    [
      'Spanish words',
      { startMs: 400, text: 'deje su mensaje después de la señal' },
      3_000,
      { is: 'machine', rule: 'words' },
    ],
    [
      'Russian words',
      { startMs: 400, text: 'оставьте сообщение после сигнала' },
      3_000,
      { is: 'machine', rule: 'words' },
    ],
    [
      'Japanese words',
      { startMs: 400, text: '発信音の後にメッセージをお話しください' },
      3_000,
      { is: 'machine', rule: 'words' },
    ],
    ['a beep', { tone: 'beep' }, 500, { is: 'machine', rule: 'beep' }],
    ['a fax machine', { tone: 'fax' }, 900, { is: 'machine', rule: 'fax' }],
  ])('%s', (_, greeting, nowMs, verdict) => {
    expect(heard(greeting, nowMs)).toEqual(verdict);
  });

  it.each<[string, Partial<Greeting>, number, number]>([
    ['nothing yet', {}, 1_000, 1_500],
    ['a word, and a short pause', { startMs: 400, endMs: 900 }, 1_200, 1_500],
    ['a sentence, and a short pause', { startMs: 400, endMs: 2_400 }, 3_000, 3_400],
    ['still talking', { startMs: 400 }, 12_000, 30_400],
    ['a long greeting, and time for a beep', { startMs: 400, endMs: 7_000 }, 8_500, 9_000],
    [
      'a person at a desk',
      { startMs: 400, endMs: 3_400, text: 'You have reached Acme, how can I help?' },
      3_500,
      4_400,
    ],
    [
      'a person who speaks of a mailbox',
      { startMs: 400, endMs: 2_400, text: 'I just got your voicemail' },
      2_500,
      3_400,
    ],
    [
      'a person who offers to take a message',
      { startMs: 400, endMs: 3_400, text: "She can't take the call, would you like to leave a message?" },
      3_500,
      4_400,
    ],
  ])('undecided: %s', (_, greeting, nowMs, untilMs) => {
    expect(heard(greeting, nowMs)).toEqual({ is: 'undecided', untilMs });
  });
});

describe('outbound.amd_enabled', () => {
  it('off: the agent greets as soon as the callee answers', () => {
    expect(played(answered(null))).toEqual(['Hello, this is Ann.']);
  });

  it('on: a person who says hello is greeted once they pause, and their word is on record', () => {
    const script = answered(HANG_UP).after(400).voice(500).take({ type: 'transcript.final', text: 'Hello?' });
    const endMs = script.nowMs;
    expect(played(script)).toEqual([]);
    script.after(2_000);
    expect(script.all('play')).toMatchObject([{ atMs: endMs + 600 }]);
    expect(script.timeline()).toEqual(['user: Hello?']);
    script.take({ type: 'transcript.final', text: 'Hello?' }).after(3_000);
    expect(script.all('generate')).toHaveLength(0);
  });

  it('on: a person who talks for long is greeted once they pause, never hung up on', () => {
    const script = answered(HANG_UP).after(400).voice(20_000);
    const endMs = script.nowMs;
    script.after(3_000);
    expect(script.all('play')).toMatchObject([{ atMs: endMs + 2_000 }]);
    expect(script.all('hangUp')).toHaveLength(0);
  });

  it('on: a person who was greeted may mention mailboxes', () => {
    const script = answered(HANG_UP).after(400).voice(500).after(1_000);
    script
      .take({
        type: 'transcript.final',
        text: "I can't come to the phone much, I got your voicemail, please leave a message next time",
      })
      .after(1_000);
    expect(script.all('hangUp')).toHaveLength(0);
  });

  it('on: a silent line is greeted after 1.5 s', () => {
    expect(answered(HANG_UP).after(5_000).all('play')).toMatchObject([{ atMs: 1_500 }]);
  });

  it('a hang-up by the callee during screening is a hang-up', () => {
    const script = answered(LEAVE).after(300).take({ type: 'leg.closed', reason: 'remote' });
    expect(script.after(1_000).last('hangUp')?.reason).toBe('user_hangup');
  });

  it('a generated greeting that fails during screening is requested again', () => {
    const script = answered(HANG_UP, {
      greeting: { mode: 'generate', instruction: 'Greet.', fallback: 'Hello.' },
    });
    const failure = {
      type: 'reply.failed',
      stage: 'model',
      message: 'overloaded',
      status: 503,
      isRetryable: false,
    } as const;
    script.take({ ...failure, replyId: 'r1' }).after(5_000);
    expect(script.all('generate')).toHaveLength(2);
  });
});

describe('outbound.voicemail', () => {
  const machine = (voicemail: TurnConfig['voicemail']) =>
    answered(voicemail)
      .after(300)
      .take({ type: 'voice.started', speechStartMs: 300 })
      .after(3_000)
      .take({ type: 'transcript.interim', text: 'please leave a message after the tone' });

  it('hangup: the call ends silently', () => {
    const script = machine(HANG_UP).after(1_000);
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
    expect(script.all('play')).toHaveLength(0);
  });

  it('leave_message: the message is said verbatim after the beep, and then the call ends', () => {
    const script = machine(LEAVE).after(2_000);
    expect(script.all('play')).toHaveLength(0);
    script
      .take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 4_000 })
      .after(500)
      .take({ type: 'tone.heard', tone: 'beep' });
    expect(played(script)).toEqual([MESSAGE]);
    const { replyId = '' } = script.last('play') ?? {};
    script.take(
      { type: 'playout.started', replyId, wireMs: script.nowMs },
      { type: 'playout.finished', replyId, heard: MESSAGE },
    );
    expect(script.timeline().at(-1)).toBe(`assistant: ${MESSAGE}`);
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
  });

  it('a mailbox without a beep gets the message 3 s after its greeting', () => {
    const script = machine(LEAVE).after(2_000);
    const endMs = script.nowMs;
    script.take({ type: 'voice.stopped', speechEndMs: endMs, voicedMs: 4_000 }).after(4_000);
    expect(script.all('play')).toMatchObject([{ atMs: endMs + 3_000 }]);
  });

  it('leave_prompt_message: the message is composed in the meantime and said after the beep', () => {
    const script = machine({ action: 'leave_prompt_message', message: 'Say that the cake is ready.' });
    expect(script.asked().at(-1)).toContain('Say that the cake is ready.');
    const replyId = script.last('generate')?.replyId ?? '';
    script.take({ type: 'tone.heard', tone: 'beep' });
    expect(script.all('play')).toHaveLength(0);
    script.take(
      { type: 'reply.piece', replyId, text: 'Your cake' },
      { type: 'reply.piece', replyId, text: 'is ready.' },
    );
    script.take({ type: 'reply.generated', replyId });
    expect(played(script)).toEqual(['Your cake is ready.']);
  });

  it('a message that is still being composed is said as far as it got 10 s after the beep', () => {
    const script = machine({ action: 'leave_prompt_message', message: 'Say that the cake is ready.' });
    const replyId = script.last('generate')?.replyId ?? '';
    script.take({ type: 'tone.heard', tone: 'beep' });
    const beepMs = script.nowMs;
    script.after(9_000).take({ type: 'reply.piece', replyId, text: 'Your cake is ready.' });
    expect(script.at(beepMs + 9_999).all('play')).toHaveLength(0);
    expect(played(script.at(beepMs + 10_000))).toEqual(['Your cake is ready.']);
    expect(script.last('discard')?.replyId).toBe(replyId);
  });

  it('a mailbox whose message is never begun is hung up on 10 s after the beep', () => {
    const script = machine({ action: 'leave_prompt_message', message: 'Say it.' });
    script.take({ type: 'tone.heard', tone: 'beep' }).after(11_000);
    expect(script.all('play')).toHaveLength(0);
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
  });

  it('a message that cannot be composed is not left', () => {
    const script = machine({ action: 'leave_prompt_message', message: 'Say it.' }).take({
      type: 'tone.heard',
      tone: 'beep',
    });
    const replyId = script.last('generate')?.replyId ?? '';
    script
      .take({
        type: 'reply.failed',
        replyId,
        stage: 'model',
        message: 'overloaded',
        status: 503,
        isRetryable: true,
      })
      .after(1_000);
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
  });

  it('a fax machine gets no message', () => {
    const script = answered(LEAVE).after(900).take({ type: 'tone.heard', tone: 'fax' }).after(1_000);
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
    expect(script.all('play')).toHaveLength(0);
  });

  it('the beep reveals a mailbox that paused like a person: the agent stops and leaves the message', () => {
    const script = answered(LEAVE).after(300).voice(900).after(1_000);
    expect(played(script)).toEqual(['Hello, this is Ann.']);
    const greeted = script.last('play')?.replyId ?? '';
    script
      .take({ type: 'playout.started', replyId: greeted, wireMs: script.nowMs })
      .after(400)
      .take({ type: 'tone.heard', tone: 'beep' });
    expect(script.all('clear')).toMatchObject([{ replyId: greeted }]);
    expect(played(script).at(-1)).toBe(MESSAGE);
  });

  it.each(['beep', 'fax'] as const)(
    'on: a %s is not a machine after the person has already talked with the agent',
    (tone) => {
      const script = answered(LEAVE)
        .after(300)
        .voice(500)
        .take({ type: 'transcript.final', text: 'Hello?' })
        .after(600);
      const greeting = script.last('play')?.replyId ?? '';
      script.take({ type: 'playout.started', replyId: greeting, wireMs: script.nowMs }).after(1_000);
      script
        .take({ type: 'playout.finished', replyId: greeting, heard: 'Hello, this is Ann.' })
        .say('When is my cake ready?')
        .answer('Your cake is ready.');
      script.after(500).take({ type: 'tone.heard', tone }).after(1_000);
      expect(script.all('hangUp')).toHaveLength(0);
      expect(script.all('clear')).toHaveLength(0);
      expect(played(script)).not.toContain(MESSAGE);
    },
  );

  it('on: the words of a mailbox still count after a turn was answered', () => {
    const script = answered(HANG_UP)
      .after(300)
      .voice(500)
      .take({ type: 'transcript.final', text: 'This is Bob.' })
      .after(600);
    const greeting = script.last('play')?.replyId ?? '';
    script.take({ type: 'playout.started', replyId: greeting, wireMs: script.nowMs }).after(1_000);
    script
      .take({ type: 'playout.finished', replyId: greeting, heard: 'Hello, this is Ann.' })
      .say('I am out today.')
      .answer('When are you back?');
    script
      .after(500)
      .take({ type: 'transcript.interim', text: 'please record your message after the tone' })
      .after(1_000);
    expect(script.all('clear')).toHaveLength(1);
  });
});

import { describe, expect, it } from 'vitest';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import { TurnScript } from './turn-script.ts';

const DISCLOSURE = 'This is an automated call from Ann’s bakery.';
const OPT_OUT = {
  key: '9',
  phrases: ['stop calling', 'take me off'],
  confirmation: 'You are off our list. Goodbye.',
};
const SAY = { mode: 'say', text: 'Your cake is ready.' } as const;

const answered = (changes: Partial<TurnConfig>) =>
  TurnScript.listening({ disclosure: DISCLOSURE, optOut: OPT_OUT, ...changes });
const played = (script: TurnScript) =>
  script.all('play').map(({ replyId }) => script.all('say').find((said) => said.replyId === replyId)?.text);
const optedOut = (script: TurnScript) => script.all('optOut').map(({ by }) => by);
/** Plays the current audio to its end. */
function hearOut(script: TurnScript): TurnScript {
  const { replyId } = script.all('play').at(-1) ?? { replyId: '' };
  const heard = script.all('say').find((said) => said.replyId === replyId)?.text ?? '';
  return script.take(
    { type: 'playout.started', replyId, wireMs: script.nowMs },
    { type: 'playout.finished', replyId, heard },
  );
}

describe('a disclosure', () => {
  it('is said before a fixed greeting, and cannot be interrupted', () => {
    const script = answered({ greeting: SAY });
    expect(played(script)).toEqual([`${DISCLOSURE} ${SAY.text}`]);
    script.after(500).voice(600).take({ type: 'transcript.interim', text: 'wait, who is this' });
    expect([script.all('pause'), script.all('clear')]).toEqual([[], []]);
  });

  it('is said when there is no greeting', () => {
    expect(played(answered({ greeting: { mode: 'off' } }))).toEqual([DISCLOSURE]);
  });

  it('is said before a generated greeting, which follows it', () => {
    const script = answered({ greeting: { mode: 'generate', instruction: 'Greet.', fallback: '' } });
    expect(played(script)).toEqual([DISCLOSURE]);
    const { replyId } = script.all('generate')[0] ?? { replyId: '' };
    script.take(
      { type: 'reply.piece', replyId, text: 'Hello!' },
      { type: 'reply.audible', replyId },
      { type: 'reply.generated', replyId },
    );
    expect(script.all('play')).toHaveLength(1);
    hearOut(script);
    expect(script.all('play').at(-1)?.replyId).toBe(replyId);
    expect(script.timeline()[0]).toContain(DISCLOSURE);
  });

  it('is said before the greeting’s fallback when the model fails during ringing', () => {
    const script = new TurnScript({
      disclosure: DISCLOSURE,
      greeting: { mode: 'generate', instruction: 'Greet.', fallback: 'Hello.' },
    });
    script.take({ type: 'call.started' });
    const failed = {
      type: 'reply.failed',
      stage: 'model',
      message: 'no',
      status: null,
      isRetryable: false,
    } as const;
    script.take({ ...failed, replyId: script.all('generate')[0]?.replyId ?? '' }, { type: 'call.connected' });
    expect(played(script)).toEqual([DISCLOSURE]);
  });

  it('is said first to a mailbox, too', () => {
    const script = answered({
      greeting: SAY,
      voicemail: { action: 'leave_message', message: 'Your cake is ready.' },
    });
    script.after(400).take({ type: 'tone.heard', tone: 'beep' });
    expect(played(script)).toEqual([`${DISCLOSURE} Your cake is ready.`]);
  });
});

describe('an opt-out', () => {
  it('is reported and confirmed, and ends the call, if its key is pressed', () => {
    const script = answered({ greeting: SAY }).take({ type: 'digit.pressed', digit: '9' });
    expect(optedOut(script)).toEqual(['key']);
    expect(played(script).at(-1)).toBe(OPT_OUT.confirmation);
    expect(script.timeline()).toContainEqual(expect.stringContaining('Keypad entry: 9'));
    script.take({
      type: 'playout.cleared',
      replyId: script.all('clear')[0]?.replyId ?? '',
      heard: '',
      isExact: true,
    });
    hearOut(script);
    expect(script.all('hangUp')).toEqual([expect.objectContaining({ reason: 'agent_hangup' })]);
  });

  it('is recognised within other words, whether the agent or the caller is speaking', () => {
    const script = TurnScript.speaking('The table is booked for two.', { optOut: OPT_OUT }).voice(900);
    script.take({ type: 'transcript.final', text: 'No, please Stop calling, thank you.' });
    expect(optedOut(script)).toEqual(['voice']);
    expect(script.timeline()).toContainEqual(expect.stringContaining('Stop calling'));
  });

  it('is recognised across two finals', () => {
    const script = TurnScript.listening({ optOut: OPT_OUT }).voice(900);
    script.take(
      { type: 'transcript.final', text: 'Just take me' },
      { type: 'transcript.final', text: 'off this list.' },
    );
    expect(optedOut(script)).toEqual(['voice']);
  });

  it('is reported once', () => {
    const script = answered({ greeting: SAY });
    script.take({ type: 'digit.pressed', digit: '9' }, { type: 'digit.pressed', digit: '9' });
    expect(optedOut(script)).toEqual(['key']);
  });

  it('is not triggered by another key, a digit of a longer entry or other words', () => {
    const keypad = { terminator: '#', interDigitMs: 3_000 };
    const script = TurnScript.listening({ optOut: OPT_OUT, keypad });
    script.take({ type: 'digit.pressed', digit: '4' }, { type: 'digit.pressed', digit: '9' });
    script
      .voice(900)
      .take({ type: 'transcript.final', text: 'Calling is fine, do not stop; I take it you are off now.' });
    expect(optedOut(script)).toEqual([]);
  });

  it('is not triggered by echo of the agent’s own words', () => {
    const script = answered({
      disclosure: 'Say take me off to get no more calls.',
      greeting: { mode: 'off' },
    }).after(1_000);
    script.voice(900).take({ type: 'transcript.final', text: 'say take me off to get no more calls' });
    expect(optedOut(script)).toEqual([]);
  });

  it('is not triggered by a mailbox that happens to say it', () => {
    const script = answered({ greeting: SAY, voicemail: { action: 'hangup', message: '' } });
    script.after(300).voice(2_000).take({
      type: 'transcript.final',
      text: 'To stop calling this person hang up, after the tone leave a message',
    });
    expect(optedOut(script)).toEqual([]);
  });
});

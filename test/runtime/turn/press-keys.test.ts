/** Keys that the agent presses, as the turn machine decides: when, what follows, and how they fail. */
import { describe, expect, it } from 'vitest';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { TurnScript } from './turn-script.ts';

const press = (keys: string, callId = 'c1'): TurnFact => ({
  type: 'reply.tool_called',
  replyId: 'r1',
  call: { callId, toolName: '_press_keys', input: JSON.stringify({ keys }) },
  mode: 'keys',
  source: 'builtin',
});
const hangUp: TurnFact = {
  type: 'reply.tool_called',
  replyId: 'r1',
  call: { callId: 'c9', toolName: '_hang_up_call', input: '{}' },
  mode: 'hang_up',
  source: 'builtin',
};
const generated: TurnFact = { type: 'reply.generated', replyId: 'r1' };
const sent: TurnFact = { type: 'keys.sent', pressId: 'c1' };

/** A menu has spoken, and the model answers. */
const asked = (changes: Partial<TurnConfig> = {}) =>
  TurnScript.listening(changes).say('for refills press two');
/** The reply's words are audible. */
const speaks = (script: TurnScript, text: string) =>
  script.take(
    { type: 'reply.piece', replyId: 'r1', text },
    { type: 'reply.audible', replyId: 'r1' },
    { type: 'playout.started', replyId: 'r1', wireMs: script.nowMs },
  );
const pressed = (script: TurnScript) => script.all('pressKeys').map(({ keys }) => keys);
const results = (script: TurnScript) =>
  script
    .all('record')
    .flatMap(({ item }) => (item.type === 'tool_result' ? [[item.status, item.error ?? item.output]] : []));

describe('keys', () => {
  it('are sent at once when the reply has no words, and the agent then listens without asking the model', () => {
    const script = asked().take(press('1w2'), generated);
    expect(pressed(script)).toEqual(['1w2']);
    script.after(900).take(sent);
    expect(script.state.phase.is).toBe('listening');
    expect(script.all('generate')).toHaveLength(1);
    expect(results(script)).toEqual([['completed', expect.stringContaining('The keys were pressed.')]]);
  });

  it('are sent once the words before them have been heard', () => {
    const script = speaks(asked(), 'One moment, please.').take(press('2'), generated);
    expect(pressed(script)).toEqual([]);
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'One moment, please.' });
    expect(pressed(script)).toEqual(['2']);
    expect(script.take(sent).timeline().at(-1)).toBe('assistant: One moment, please.');
  });

  it('are sent although the far end talks over the words before them: a menu talks all the time', () => {
    const script = speaks(asked(), 'One moment, please.').take(press('2'), generated);
    script
      .take({ type: 'voice.started', speechStartMs: script.nowMs }, { type: 'voice.reached', voicedMs: 600 })
      .take({ type: 'transcript.interim', text: 'to hear these options again' });
    expect(script.all('pause').length + script.all('clear').length).toBe(0);
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'One moment, please.' });
    expect(pressed(script)).toEqual(['2']);
  });

  it('are sent when the far end had paused the agent before it asked for them', () => {
    const script = speaks(asked(), 'One moment, please.');
    script
      .take({ type: 'voice.started', speechStartMs: script.nowMs }, { type: 'voice.reached', voicedMs: 300 })
      .take(press('2'), generated);
    expect(script.last('resume')).toBeDefined();
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'One moment, please.' });
    expect(pressed(script)).toEqual(['2']);
  });

  it('are sent after a hold line that is being said', () => {
    const script = asked().after(3_500);
    const { replyId = '', text = '' } = script.last('say') ?? {};
    script.take({ type: 'reply.audible', replyId }, { type: 'playout.started', replyId, wireMs: 0 });
    script.take(press('2'), generated);
    expect(pressed(script)).toEqual([]);
    script.take({ type: 'playout.finished', replyId, heard: text });
    expect(pressed(script)).toEqual(['2']);
  });

  it('are sent although the voice fails to say the words before them', () => {
    const script = asked().take(
      { type: 'reply.piece', replyId: 'r1', text: 'One moment.' },
      press('2'),
      generated,
    );
    script.take({
      type: 'reply.failed',
      replyId: 'r1',
      stage: 'synthesis',
      message: 'no voice',
      status: null,
      isRetryable: false,
    });
    expect(pressed(script)).toEqual(['2']);
  });

  it('leave the agent silent, and what the far end says meanwhile is answered afterwards', () => {
    const script = asked().take(press('1,2'), generated).say('welcome to the pharmacy');
    expect(script.all('generate')).toHaveLength(1);
    expect(script.all('play').map(({ replyId }) => replyId)).toEqual(['r1']);
    script.take(sent);
    expect(script.asked().at(-1)).toBe('user: welcome to the pharmacy');
  });

  it('are not cut off by a hang-up in the same reply, which follows them', () => {
    const script = speaks(asked(), 'Goodbye.').take(press('9'), hangUp, generated);
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'Goodbye.' });
    expect([pressed(script), script.all('hangUp')]).toEqual([['9'], []]);
    expect(script.take(sent).last('hangUp')?.reason).toBe('agent_hangup');
    expect(script.timeline()).toEqual(['user: for refills press two', 'assistant: Goodbye.']);
  });

  it('and a hang-up without words end in the farewell of the language', () => {
    const script = asked().take(press('9'), hangUp, generated, sent);
    expect(script.last('say')?.text).toBe('Goodbye.');
  });

  it('come before a transfer in the same reply', () => {
    const destination = {
      label: 'Desk',
      announcementMode: 'off',
      announcement: '',
      onFailure: { action: 'return_to_agent', message: '' },
      error: null,
    } as const;
    const script = asked({ transfer: { refuseQuestions: true, destinations: [destination] } });
    const call = { callId: 'c2', toolName: '_transfer_call', input: '{}' };
    script.take(
      press('9'),
      { type: 'reply.tool_called', replyId: 'r1', call, mode: 'transfer', source: 'builtin' },
      generated,
    );
    expect(script.all('transfer')).toEqual([]);
    expect(script.take(sent).all('transfer')).toHaveLength(1);
  });

  it('and another tool of the reply: the model goes on when both are done', () => {
    const script = asked();
    const call = { callId: 'c2', toolName: 'look_up', input: '{}' };
    script.take(
      press('9'),
      { type: 'reply.tool_called', replyId: 'r1', call, mode: 'blocking', source: 'webhook' },
      generated,
      sent,
    );
    expect(script.all('generate')).toHaveLength(1);
    script.take({
      type: 'tool.finished',
      callId: 'c2',
      status: 'completed',
      output: 'yes',
      outputTruncated: false,
      error: null,
      latencyMs: 1,
      modelText: 'yes',
    });
    expect(script.asked().slice(-2)).toEqual(['tool: The keys were pressed.', 'tool: yes']);
  });

  it.each([['12x'], [''], ['w,'], ['1'.repeat(65)]])('%j are refused: the model reads why', (keys) => {
    const script = asked().take(press(keys), generated);
    expect(pressed(script)).toEqual([]);
    expect(results(script)).toEqual([['failed', expect.stringContaining('Not pressed')]]);
    expect(script.asked().at(-1)).toMatch(/^tool: Not pressed/);
  });

  it('are pressed once in a reply: a second call is refused, and the model goes on after the first', () => {
    const script = asked().take(press('1'), press('2', 'c2'), generated);
    expect(pressed(script)).toEqual(['1']);
    expect(script.take(sent).asked().at(-1)).toMatch(/^tool: Not pressed: a reply presses keys once/);
  });

  it('are pressed although a call before them in the reply had none that can be pressed', () => {
    const script = asked().take(press('two'), press('2', 'c2'), generated);
    expect(pressed(script)).toEqual(['2']);
    expect(results(script)).toEqual([['failed', expect.stringContaining('Not pressed: keys are')]]);
  });

  it('that the line does not take in time are given up, and the model is told', () => {
    const script = asked().take(press('12'), generated).after(5_100);
    expect(script.all('dropKeys')).toHaveLength(1);
    expect(results(script)).toEqual([['failed', expect.stringContaining('takes no audio')]]);
    expect(script.all('generate')).toHaveLength(2);
    script.take(sent);
    expect(results(script)).toHaveLength(1);
  });

  it.each<[string, TurnFact, string]>([
    ['the far end hangs up', { type: 'leg.closed', reason: 'remote' }, 'user_hangup'],
    [
      'the call is ended from outside',
      { type: 'end.requested', reason: 'internal_error', sayGoodbye: false },
      'internal_error',
    ],
  ])('are on record as cut off if %s', (_, fact, reason) => {
    const script = asked().take(press('12'), generated, fact);
    expect(results(script)).toEqual([['failed', 'Cut off before all keys were pressed.']]);
    expect(script.last('hangUp')?.reason).toBe(reason);
  });

  it('are cut off by a colleague who takes the call over', () => {
    const script = asked().take(press('1,2'), generated).after(300).take({ type: 'colleague.took_over' });
    expect(script.all('dropKeys')).toHaveLength(1);
    expect(script.all('yield')).toHaveLength(1);
    expect(results(script.take(sent))).toEqual([['failed', 'Cut off before all keys were pressed.']]);
  });

  it('are cut off by the beep of a mailbox, so that the message is not left while they are sent', () => {
    const voicemail = { action: 'leave_message', message: 'Your cake is ready.' } as const;
    const script = asked({ voicemail }).say('for refills press two').take(press('1,2'), generated);
    expect(pressed(script)).toEqual(['1,2']);
    script.after(300).take({ type: 'tone.heard', tone: 'beep' });
    expect(script.last('say')?.text).toBe('Your cake is ready.');
    expect(script.all('dropKeys')).toHaveLength(1);
    expect(results(script.take(sent))).toEqual([['failed', 'Cut off before all keys were pressed.']]);
  });
});

describe('an extension', () => {
  const outbound = (changes: Partial<TurnConfig> = {}) =>
    new TurnScript({ extension: ',204#', greeting: { mode: 'say', text: 'Hello.' }, ...changes }).take(
      { type: 'call.started' },
      { type: 'call.connected' },
    );

  it('is dialled after the answer, before the greeting, and nobody is listened to until then', () => {
    const script = outbound();
    expect(script.last('pressKeys')).toMatchObject({ pressId: 'extension', keys: ',204#' });
    script.voice(600).take({ type: 'transcript.final', text: 'welcome' });
    expect([script.all('play'), script.all('openRecognizer')]).toEqual([[], []]);
    script.take({ type: 'keys.sent', pressId: 'extension' });
    expect(script.all('play')).toHaveLength(1);
    expect(script.all('openRecognizer')).toHaveLength(1);
    expect(script.timeline()).toEqual([]);
  });

  it('is on the timeline as a press of the tool', () => {
    const script = outbound().after(3_000).take({ type: 'keys.sent', pressId: 'extension' });
    expect(script.all('record').map(({ item }) => item)).toMatchObject([
      { type: 'tool_call', tool_name: '_press_keys', input: '{"keys":",204#"}', turn_id: null },
      { type: 'tool_result', status: 'completed', latency_ms: 3_000, turn_id: null },
    ]);
  });

  it('comes before machine detection, which hears what answers behind it', () => {
    const script = outbound({ voicemail: { action: 'hangup', message: '' } });
    expect(script.state.screening).toBeNull();
    script.take({ type: 'keys.sent', pressId: 'extension' });
    expect(script.state.screening).not.toBeNull();
  });

  it('that the line does not take in time is given up: the call begins', () => {
    const script = outbound().after(10_000);
    expect(script.all('dropKeys')).toHaveLength(1);
    expect(script.all('play')).toHaveLength(1);
  });

  it('ends with the far end: the call was answered, so it is not cancelled', () => {
    const script = outbound().take({ type: 'leg.closed', reason: 'remote' });
    expect(script.last('hangUp')?.reason).toBe('user_hangup');
    expect(results(script)).toEqual([['failed', 'Cut off before all keys were pressed.']]);
  });
});

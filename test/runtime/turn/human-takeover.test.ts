import { describe, expect, it } from 'vitest';
import { TurnScript } from './turn-script.ts';

const TAKE = { type: 'colleague.took_over' } as const;
const HAND_BACK = { type: 'colleague.handed_back' } as const;
const said = (text: string) => ({ type: 'colleague.said', text }) as const;

describe('a human takeover', () => {
  it('silences the agent: its reply is cut, the heard part stays, and the model is not asked again', () => {
    const script = TurnScript.speaking('The table is booked for two.').take(TAKE);
    const replyId = script.last('generate')?.replyId ?? '';
    expect(script.last('clear')).toMatchObject({ replyId });
    expect(script.all('yield')).toHaveLength(1);
    script.take({ type: 'playout.cleared', replyId, heard: 'The table is', isExact: true });
    expect(script.timeline()).toEqual(['user: book a table', 'assistant: The table is']);
    const asked = script.all('generate').length;
    script.say('and who are you');
    script.after(120_000);
    expect(script.all('generate')).toHaveLength(asked);
    expect(script.all('say')).toEqual([]);
    expect(script.timeline().at(-1)).toBe('user: and who are you');
    expect(script.state.phase.is).toBe('withHuman');
  });

  it('discards an answer in progress without a hold line', () => {
    const script = TurnScript.listening().say('book a table').take(TAKE);
    expect(script.last('discard')).toMatchObject({ replyId: script.last('generate')?.replyId });
    script.after(20_000);
    expect(script.all('say')).toEqual([]);
    expect(script.timeline()).toEqual(['user: book a table']);
  });

  it('records both speakers in order, and the agent continues from there after the hand-back', () => {
    const script = TurnScript.listening().take(TAKE).say('can you do eight');
    script.take(said('Yes, eight is fine.')).say('thanks');
    script.take({ type: 'user.message', text: 'my name is Ann', wantsAudio: true }, HAND_BACK);
    expect(script.timeline()).toEqual([
      'user: can you do eight',
      'human: Yes, eight is fine.',
      'user: thanks',
      'user: my name is Ann',
    ]);
    expect(script.all('takeBack')).toHaveLength(1);
    expect(script.asked().at(-1)).toMatch(
      /^user: \[A colleague .*They said:\nCaller: can you do eight\nColleague: Yes, eight is fine\.\nCaller: thanks\nCaller: my name is Ann\n/,
    );
    script.answer('Welcome back, Ann.');
    expect(script.state.phase.is).toBe('speaking');
  });

  it('leaves the answer to the colleague if it begins during caller speech', () => {
    const script = TurnScript.listening().take({ type: 'voice.started', speechStartMs: 0 });
    script.after(600).take({ type: 'transcript.interim', text: 'I want' }, TAKE);
    script
      .after(400)
      .take(
        { type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 1_000 },
        { type: 'transcript.final', text: 'I want a person' },
      );
    script.after(2_000);
    expect(script.all('generate')).toEqual([]);
    expect(script.timeline()).toEqual(['user: I want a person']);
  });

  it('delays a background result until the hand-back', () => {
    const script = TurnScript.listening().say('look it up');
    const replyId = script.last('generate')?.replyId ?? '';
    const call = { callId: 'c1', toolName: 'look_up', input: '{}' };
    script.take({ type: 'reply.tool_called', replyId, call, mode: 'background', source: 'webhook' }, TAKE);
    const result = {
      status: 'completed',
      output: '7',
      outputTruncated: false,
      error: null,
      latencyMs: 5,
      modelText: '7',
    } as const;
    script.take({ type: 'tool.finished', callId: 'c1', ...result });
    expect(script.all('generate')).toHaveLength(1);
    script.take(HAND_BACK);
    expect(script.asked().at(-1)).toContain('handed the call back');
    expect(script.state.waiting.map(({ text }) => text)).toEqual([
      '[The background tool look_up has answered: 7]',
    ]);
  });

  it('delays the call’s time limit until the hand-back', () => {
    const script = TurnScript.listening({ maxDurationMs: 60_000 }).take(TAKE);
    script.after(90_000);
    expect(script.state.phase.is).toBe('withHuman');
    script.take(HAND_BACK);
    expect(script.state.phase).toMatchObject({ is: 'ending', reason: 'conversation_timeout' });
  });

  it('ends with the call when the caller hangs up', () => {
    const script = TurnScript.listening().take(TAKE, { type: 'leg.closed', reason: 'remote' });
    expect(script.last('hangUp')).toMatchObject({ reason: 'user_hangup' });
  });

  it('is refused while the call is being transferred or ended', () => {
    const ending = TurnScript.listening().take(
      { type: 'end.requested', reason: 'user_hangup', sayGoodbye: true },
      TAKE,
    );
    expect(ending.all('yield')).toEqual([]);
    expect(new TurnScript().take({ type: 'call.started' }, TAKE).all('yield')).toEqual([]);
  });

  it('ends the caller’s wait: no silence is attributed to the agent', () => {
    const script = TurnScript.listening().take(TAKE).say('hello').take(HAND_BACK);
    expect(script.decisions('interruption').map(({ rule }) => rule)).toEqual(['taken_over']);
  });
});

import { describe, expect, it } from 'vitest';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { playOut, saidBy, writes } from './reply-facts.ts';
import { TurnScript } from './turn-script.ts';

const FINALS = { recognition: { has: 'finals', finalWithinMs: 500 } } as const;
const { hold, toolFiller, trouble } = phrasesFor('en');

describe('a waiting caller hears a hold line, whatever happens unheard', () => {
  const LOOK_UP = {
    call: { callId: 'c1', toolName: 'look', input: '{}' },
    mode: 'blocking',
    source: 'webhook',
  } as const;
  const FOUND = {
    output: 'blue',
    outputTruncated: false,
    error: null,
    latencyMs: 900,
    modelText: 'blue',
  } as const;
  const GREETS: ConstructorParameters<typeof TurnScript>[0] = {
    greeting: { mode: 'generate', instruction: 'Greet.', fallback: 'Hello!' },
  };
  const found = (script: TurnScript) =>
    script.take({ type: 'tool.finished', callId: 'c1', status: 'completed', ...FOUND });

  /** The reply says `text`, calls the tool, and has been played to its end. */
  function saysAndLooksUp(script: TurnScript, text: string): void {
    const { replyId = '' } = script.last('generate') ?? {};
    script.take(
      { type: 'reply.token', replyId },
      { type: 'reply.piece', replyId, text },
      { type: 'reply.tool_called', replyId, ...LOOK_UP },
    );
    script.take({ type: 'reply.generated', replyId }, { type: 'reply.audible', replyId });
    script
      .take({ type: 'playout.started', replyId, wireMs: script.nowMs })
      .after(500)
      .take({ type: 'playout.finished', replyId, heard: text });
  }

  it('a second attempt at the greeting does not delay its fixed text', () => {
    const script = new TurnScript(GREETS)
      .take({ type: 'call.started' }, { type: 'call.connected' })
      .at(1_000);
    script.take({ type: 'reply.generated', replyId: 'r1' }).at(3_499);
    expect(saidBy(script)).toEqual([]);
    script.at(3_500);
    expect(saidBy(script)).toEqual(['Hello!']);
  });

  it('a tool result does not delay the hold line', () => {
    const script = TurnScript.listening();
    script.say('look it up');
    script.after(3_000);
    playOut(script);
    const { replyId = '' } = script.last('generate') ?? {};
    script.take(
      { type: 'reply.token', replyId },
      { type: 'reply.tool_called', replyId, ...LOOK_UP },
      { type: 'reply.generated', replyId },
    );
    found(script.after(3_400)).after(100);
    expect(saidBy(script)).toEqual([hold, hold]);
  });

  it('a cough before the answer does not delay the hold line', () => {
    const script = TurnScript.listening(FINALS);
    script.say('look it up').take({ type: 'voice.started', speechStartMs: script.nowMs }).after(256);
    script.take({ type: 'voice.reached', voicedMs: 256 }).after(300);
    const pausedMs = script.nowMs - 300;
    script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 500 }).at(pausedMs + 3_499);
    expect(saidBy(script)).toEqual([]);
    expect(saidBy(script.at(pausedMs + 3_500))).toEqual([hold]);
  });

  it('a long written reply that keeps growing is not given up', () => {
    const script = TurnScript.listening();
    script.take({ type: 'user.message', text: 'tell me all', wantsAudio: false });
    const { replyId = '' } = script.last('generate') ?? {};
    script.take({ type: 'reply.token', replyId });
    for (let sentence = 0; sentence < 8; sentence++) {
      script.after(2_000).take({ type: 'reply.piece', replyId, text: 'And so on.' });
      if (script.state.phase.is === 'speaking') playOut(script);
    }
    expect(script.all('discard')).toEqual([]);
    expect(saidBy(script)).toEqual([]);
  });

  it('a caller who asked for no audio hears none, while the model thinks or a tool runs', () => {
    const script = TurnScript.listening().take({
      type: 'user.message',
      text: 'look it up',
      wantsAudio: false,
    });
    const { replyId = '' } = script.last('generate') ?? {};
    script
      .after(5_000)
      .take(
        { type: 'reply.token', replyId },
        { type: 'reply.tool_called', replyId, ...LOOK_UP },
        { type: 'reply.generated', replyId },
      );
    found(script.after(12_000)).after(5_000);
    expect(saidBy(script)).toEqual([]);
    writes(script, script.last('generate')?.replyId ?? '', 'It is open.');
    expect(script.last('generate')).toMatchObject({ isSpoken: false });
    expect(script.all('hangUp')).toEqual([]);
  });

  it('a caller who speaks during a written answer hears a hold line if it is slow, then the answer', () => {
    const script = TurnScript.listening().take({
      type: 'user.message',
      text: 'look it up',
      wantsAudio: false,
    });
    const { replyId = '' } = script.last('generate') ?? {};
    script.take(
      { type: 'reply.token', replyId },
      { type: 'reply.tool_called', replyId, ...LOOK_UP },
      { type: 'reply.generated', replyId },
    );
    script.voice(600).take({ type: 'transcript.final', text: 'are you there' }).after(2_000);
    expect(saidBy(script)).toEqual([]);
    script.after(2_000);
    expect(saidBy(script)).toEqual([toolFiller]);
    playOut(script);
    found(script);
    const written = script.last('generate')?.replyId ?? '';
    writes(script, written, 'It is open.');
    script.take(
      { type: 'reply.audible', replyId: written },
      { type: 'playout.finished', replyId: written, heard: 'It is open.' },
    );
    expect(script.asked().at(-1)).toBe('user: are you there');
    expect(script.last('generate')).toMatchObject({ isSpoken: true });
  });

  it('a caller who asked for no audio gets the failure in writing, too', () => {
    const script = TurnScript.listening().take({
      type: 'user.message',
      text: 'who are you',
      wantsAudio: false,
    });
    for (let attempt = 0; attempt < 2; attempt++) {
      const { replyId = '' } = script.last('generate') ?? {};
      script.after(500).take({
        type: 'reply.failed',
        replyId,
        stage: 'model',
        message: 'no',
        status: 500,
        isRetryable: true,
      });
    }
    expect(script.all('say')).toMatchObject([{ text: trouble, isSpoken: false }]);
  });

  it('a silent model is given up for a written turn as for a spoken one', () => {
    const script = TurnScript.listening().take({
      type: 'user.message',
      text: 'who are you',
      wantsAudio: false,
    });
    script.after(40_000);
    expect(script.all('generate')).toHaveLength(2);
    expect(script.all('say')).toMatchObject([{ text: trouble, isSpoken: false }]);
  });

  it("a greeting's tool is bridged with a hold line, and so is the reply after it", () => {
    const script = new TurnScript(GREETS).take({ type: 'call.started' }, { type: 'call.connected' });
    saysAndLooksUp(script, 'Welcome.');
    script.after(3_500);
    expect(saidBy(script)).toEqual([toolFiller]);
    playOut(script);
    found(script).after(3_500);
    expect(saidBy(script)).toEqual([toolFiller, hold]);
  });

  it('the result of a background tool is bridged too, once its reply has started', () => {
    const script = TurnScript.listening();
    script.say('order it');
    const { replyId = '' } = script.last('generate') ?? {};
    script.take(
      { type: 'reply.tool_called', replyId, ...LOOK_UP, mode: 'background' },
      { type: 'reply.generated', replyId },
    );
    script.answer('I will.').after(500);
    script.take({
      type: 'playout.finished',
      replyId: script.last('generate')?.replyId ?? '',
      heard: 'I will.',
    });
    found(script).after(3_000);
    expect(saidBy(script)).toEqual([hold]);
    playOut(script);
    script.after(3_500);
    expect(saidBy(script)).toEqual([hold, hold]);
  });
});

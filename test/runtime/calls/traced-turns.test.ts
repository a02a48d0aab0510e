/** The turns of a call, and its caller's speech, in its trace. */
import { describe, expect, it } from 'vitest';
import { SpeechError } from '#media/speech/speech.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { REQUEST, USAGE } from './traced-call.ts';
import { answers, asks, heard, listening, replyOf, says, type TracedCall } from './traced-talk.ts';

describe('a caller’s utterance in a trace', () => {
  it('lasts from the first sound to the recogniser’s last answer, and belongs to its turn', () => {
    const call = listening();
    call.script.at(900).take({ type: 'voice.started', speechStartMs: 900 });
    call.script.at(1_500);
    call.ears.interim('two');
    call.script.at(1_900).take({ type: 'voice.stopped', speechEndMs: 1_900, voicedMs: 800 });
    call.script.at(2_000);
    call.ears.final('two loaves');
    call.script.at(2_050);
    call.ears.finalised();
    call.script.at(4_000);
    answers(call);
    call.trace.close();
    expect(heard(call)).toEqual([
      expect.objectContaining({
        of: 'turn',
        ofTurn: 1,
        from: 900,
        to: 2_050,
        kind: 'client',
        'gen_ai.operation.name': 'speech_to_text',
        'gen_ai.provider.name': 'deepgram',
        'gen_ai.request.model': 'nova-3',
        'gen_ai.speech.input.language': 'en',
        'parley.audio_seconds': 1,
      }),
    ]);
  });

  it('does not begin with a noise long before it', () => {
    const call = listening();
    call.script.voice(100).at(9_000);
    says(call, 'two loaves');
    call.trace.close();
    expect(heard(call)).toEqual([expect.objectContaining({ from: 9_000 })]);
  });

  it('does not contain that of the turn before', () => {
    const call = listening();
    asks(call, 'what time is it');
    answers(call);
    call.script.at(10_000);
    asks(call, 'and where are you');
    answers(call);
    call.trace.close();
    expect(heard(call)).toEqual([
      expect.objectContaining({ ofTurn: 1, from: 0, to: 600, 'parley.audio_seconds': 0.6 }),
      expect.objectContaining({ ofTurn: 2, from: 10_000, to: 10_600, 'parley.audio_seconds': 0.6 }),
    ]);
  });

  it('belongs to its turn also if the model failed, and not to the next', () => {
    const call = listening();
    asks(call, 'what time is it');
    const failure = { stage: 'model', message: 'broken', status: 500, isRetryable: false } as const;
    call.script.take({ type: 'reply.failed', replyId: replyOf(call.script), ...failure });
    const apology = call.script.last('say')?.replyId ?? '';
    call.script.take({ type: 'playout.finished', replyId: apology, heard: 'Sorry.' }).at(10_000);
    asks(call, 'hello again');
    answers(call);
    call.trace.close();
    expect(heard(call).map(({ from, ofTurn }) => [from, ofTurn])).toEqual([
      [0, 1],
      [10_000, 2],
    ]);
  });

  it('that is a listener’s “yeah” is a short one of the call, and not of the next turn', () => {
    const call = listening();
    asks(call, 'what time is it');
    call.script.answer('It is noon, and we are open.').at(2_500);
    says(call, 'yeah', 300);
    call.script.at(4_500).take({ type: 'playout.progressed', replyId: 'r1' }).at(7_000);
    call.script.take({ type: 'playout.finished', replyId: replyOf(call.script), heard: 'It is noon.' });
    call.script.at(10_000);
    asks(call, 'and where are you');
    answers(call);
    call.trace.close();
    expect(heard(call)).toEqual([
      expect.objectContaining({ of: 'turn', ofTurn: 1, from: 0 }),
      expect.objectContaining({ of: 'call', from: 2_500, to: 2_800 }),
      expect.objectContaining({ of: 'turn', ofTurn: 2, from: 10_000 }),
    ]);
  });

  it('to a colleague who has the call is one of the call', () => {
    const call = listening();
    call.script.take({ type: 'colleague.took_over' }).at(3_000);
    asks(call, 'who are you');
    call.script.at(8_000);
    asks(call, 'I see');
    call.script.take({ type: 'colleague.handed_back' });
    answers(call);
    call.trace.close();
    expect(heard(call).map(({ from, of, to }) => [from, to, of])).toEqual([
      [3_000, 3_600, 'call'],
      [8_000, 8_600, 'call'],
    ]);
  });

  it('that has a pause in it is one', () => {
    const call = listening();
    says(call, 'two loaves');
    call.script.after(300);
    says(call, 'and a cake');
    call.script.after(1_500);
    answers(call);
    call.trace.close();
    expect(heard(call)).toEqual([
      expect.objectContaining({ ofTurn: 1, from: 0, to: 1_500, 'parley.audio_seconds': 1.2 }),
    ]);
  });

  it('without a detected voice is another than the one before', () => {
    const call = listening();
    asks(call, 'what time is it');
    answers(call);
    call.script.at(10_000);
    call.ears.final('and where are you');
    call.script.after(3_000);
    answers(call);
    call.trace.close();
    expect(heard(call).map(({ from, ofTurn, to }) => [from, to, ofTurn])).toEqual([
      [0, 600, 1],
      [10_000, 10_000, 2],
    ]);
  });

  it('whose recogniser failed is a failed one of its engine, and one of the engine that took over', () => {
    const call = listening();
    call.script.take({ type: 'voice.started', speechStartMs: 0 }).at(400);
    call.ears.fail(new SpeechError('connectivity', 'cut'), 'assemblyai:universal');
    call.script.at(1_000).take({ type: 'voice.stopped', speechEndMs: 1_000, voicedMs: 1_000 });
    call.ears.final('two loaves');
    call.script.at(3_000);
    answers(call);
    call.trace.close();
    expect(heard(call)).toEqual([
      expect.objectContaining({
        ofTurn: 1,
        from: 0,
        to: 400,
        'gen_ai.provider.name': 'deepgram',
        'parley.audio_seconds': 0.4,
        'error.type': 'connectivity',
      }),
    ]);
    expect(heard(call, 'speech_to_text universal')).toEqual([
      expect.objectContaining({
        ofTurn: 1,
        from: 400,
        to: 1_000,
        'gen_ai.provider.name': 'assemblyai',
        'parley.audio_seconds': 1,
        'error.type': null,
      }),
    ]);
  });

  it('is not lengthened by a failure of the recogniser in the silence after it', () => {
    const call = listening();
    asks(call, 'what time is it');
    answers(call);
    call.script.at(9_000);
    call.ears.fail(new SpeechError('connectivity', 'cut'), 'deepgram:nova-3');
    call.trace.close();
    expect(heard(call)).toEqual([
      expect.objectContaining({ ofTurn: 1, from: 0, to: 600, 'error.type': null }),
      expect.objectContaining({ of: 'call', from: 9_000, to: 9_000, 'error.type': 'connectivity' }),
    ]);
  });
});

describe('the end of a turn in a trace', () => {
  /** The end of a turn whose reply is cut after these facts. */
  function endAfter(...facts: readonly TurnFact[]) {
    const call = listening();
    asks(call, 'what time is it');
    call.script
      .answer('It is noon.')
      .after(200)
      .take(...facts);
    const cleared = { heard: 'It is', isExact: true, replyId: 'r1' } as const;
    call.script.take({ type: 'playout.cleared', ...cleared });
    call.trace.close();
    return (call.named('turn')[0] as Record<string, unknown>)['gen_ai.agent.invocation.end_reason'];
  }

  it('is `completed` if its reply was played', () => {
    const call = listening();
    asks(call, 'what time is it');
    answers(call);
    call.trace.close();
    expect(call.named('turn')).toEqual([
      expect.objectContaining({ to: 3_100, 'gen_ai.agent.invocation.end_reason': 'completed' }),
    ]);
  });

  it.each<[reason: string, cause: string, ...facts: TurnFact[]]>([
    ['interrupted', 'the caller stops it', { type: 'user.interrupted' }],
    ['interrupted', 'the caller types', { type: 'user.message', text: 'stop', wantsAudio: true }],
    [
      'interrupted',
      'the caller stops it after their connection was away for a moment',
      { type: 'leg.lost' },
      { type: 'call.connected' },
      { type: 'user.interrupted' },
    ],
    ['session_closed', 'the caller hangs up', { type: 'leg.closed', reason: 'remote' }],
    [
      'session_closed',
      'the API ends it',
      { type: 'end.requested', reason: 'agent_hangup', sayGoodbye: false },
    ],
    ['session_closed', 'its time is up', { type: 'timer.fired', name: 'maxDuration' }],
    ['taken_over', 'a colleague takes it over', { type: 'colleague.took_over' }],
    ['leg_lost', 'the connection breaks', { type: 'leg.lost' }],
  ])('is `%s` if %s', (reason, _, ...facts) => {
    expect(endAfter(...facts)).toBe(reason);
  });
});

describe('a typed turn in a trace', () => {
  async function types(call: TracedCall, text: string): Promise<void> {
    call.script.take({ type: 'user.message', text, wantsAudio: true });
    call.clock.stall(call.script.nowMs - call.clock.now());
    await call.generate([{ type: 'finish', usage: USAGE }], { ...REQUEST, replyId: replyOf(call.script) });
  }

  it('has its work below it, as a spoken one, and nothing that was heard', async () => {
    const call = listening();
    call.script.at(500);
    await types(call, 'what time is it');
    answers(call);
    call.trace.close();
    expect(call.named('turn')).toEqual([
      expect.objectContaining({
        of: 'call',
        from: 500,
        to: 1_500,
        'parley.source': 'typed',
        'gen_ai.agent.invocation.end_reason': 'completed',
      }),
    ]);
    expect(call.named('chat gpt')).toEqual([expect.objectContaining({ of: 'turn', ofTurn: 1 })]);
    expect(call.spans.filter(({ name }) => name.startsWith('speech_to_text'))).toEqual([]);
  });

  it('is recorded once the next one is answered, and not only at the end of the call', async () => {
    const call = listening();
    for (let turn = 1; turn <= 5; turn++) {
      await types(call, `question ${turn}`);
      answers(call);
    }
    expect(call.named('turn').map((span) => (span as Record<string, unknown>)['parley.turn_id'])).toEqual([
      1, 2, 3, 4,
    ]);
    expect(call.named('chat gpt').map(({ ofTurn }) => ofTurn)).toEqual([1, 2, 3, 4]);
  });
});

/** Late words, failures that the caller heard, and the ends of turns, in the trace of a call. */
import { describe, expect, it } from 'vitest';
import { failed, playOut } from '../turn/reply-facts.ts';
import { sound } from './traced-call.ts';
import { answers, asks, heard, listening, replyOf, type TracedCall } from './traced-talk.ts';

/** The caller says something; its turn is taken on interim words after 1 s without final ones. */
function asksInInterims(call: TracedCall, text: string): void {
  call.script.voice(600);
  call.ears.interim(text);
  call.script.after(2_000);
}

/** The model fails twice, and the turn is given up. */
function givesUp({ script }: TracedCall): void {
  script.take(failed(replyOf(script)));
  script.take(failed(replyOf(script)));
}

/** The agent's last fixed text is synthesised and played to its end. */
async function speaksLine(call: TracedCall): Promise<void> {
  call.clock.stall(call.script.nowMs - call.clock.now());
  await call.speak([sound(500)], call.script.last('say')?.replyId ?? '');
  playOut(call.script);
}

const turnsOf = (call: TracedCall): Record<string, unknown>[] => call.named('turn');
const endOf = (call: TracedCall) => {
  const [turn] = turnsOf(call);
  return [turn?.['gen_ai.agent.invocation.end_reason'], turn?.['status'], turn?.['to']];
};
const linesOf = (call: TracedCall) =>
  call.spans
    .filter(({ name }) => name.startsWith('text_to_speech'))
    .map(({ attributes }) => attributes?.['parley.line']);

describe('a late final of the recogniser in a trace', () => {
  it('lengthens the utterance, which says how long after its turn was taken it came', () => {
    const call = listening();
    asksInInterims(call, 'book a table');
    call.ears.final('Book a table.');
    answers(call);
    call.trace.close();
    expect(heard(call)).toEqual([
      expect.objectContaining({ ofTurn: 1, from: 0, to: 2_600, 'parley.late_final_ms': 1_000 }),
    ]);
  });

  it('belongs to its utterance, although the caller speaks again', () => {
    const call = listening({ hasContent: true });
    asksInInterims(call, 'book a table');
    call.script.take({ type: 'voice.started', speechStartMs: 2_600 }).at(2_700);
    call.ears.final('Book a table.');
    call.script.at(3_200).take({ type: 'voice.stopped', speechEndMs: 3_200, voicedMs: 600 });
    call.ears.final('for two people');
    call.script.after(2_000);
    answers(call);
    call.trace.close();
    expect(heard(call)).toEqual([
      expect.objectContaining({
        from: 0,
        to: 2_700,
        'parley.audio_seconds': 0.6,
        'parley.late_final_ms': 1_100,
        'gen_ai.output.messages': expect.stringContaining('Book a table.'),
      }),
      expect.objectContaining({
        from: 2_600,
        to: 3_200,
        'parley.late_final_ms': null,
        'gen_ai.output.messages': expect.not.stringContaining('Book'),
      }),
    ]);
  });

  it('is none if the words were final before their turn was taken', () => {
    const call = listening();
    asks(call, 'book a table');
    answers(call);
    call.trace.close();
    expect(heard(call)).toEqual([expect.objectContaining({ 'parley.late_final_ms': null })]);
  });
});

describe('an outage that the caller heard in a trace', () => {
  it('is an apology below its turn, which lasts until it was heard and has failed', async () => {
    const call = listening();
    asks(call, 'what time is it');
    givesUp(call);
    await speaksLine(call);
    call.trace.close();
    expect(turnsOf(call)).toEqual([
      expect.objectContaining({
        to: 3_100,
        status: 'no_answer',
        'error.type': 'no_answer',
        'gen_ai.agent.invocation.end_reason': 'completed',
      }),
    ]);
    expect(call.named('text_to_speech Katie')).toEqual([
      expect.objectContaining({ ofTurn: 1, 'parley.line': 'gave_up_turn' }),
    ]);
  });

  it('that ends the call has its farewell below the last turn', async () => {
    const call = listening();
    for (let turn = 1; turn <= 3; turn++) {
      asks(call, `question ${turn}`);
      givesUp(call);
      await speaksLine(call);
      call.script.after(3_000);
    }
    expect(call.script.last('hangUp')?.reason).toBe('llm_endpoint_failure');
    call.trace.close();
    expect(linesOf(call)).toEqual(['gave_up_turn', 'gave_up_turn', 'gave_up_call']);
    expect(turnsOf(call).map(({ status }) => status)).toEqual(['no_answer', 'no_answer', 'no_answer']);
  });

  it('is a hold line below its turn, which ends as the reply after it', async () => {
    const call = listening();
    asks(call, 'what time is it');
    call.script.after(3_000);
    await speaksLine(call);
    answers(call);
    call.trace.close();
    expect(call.named('text_to_speech Katie')).toEqual([
      expect.objectContaining({ ofTurn: 1, 'parley.line': 'hold_line' }),
    ]);
    expect(endOf(call).slice(0, 2)).toEqual(['completed', null]);
  });

  it('leaves a turn without an end if only a hold line was heard of its answer', async () => {
    const call = listening();
    asks(call, 'what time is it');
    call.script.after(3_000);
    await speaksLine(call);
    call.trace.close();
    expect(endOf(call).slice(0, 2)).toEqual([null, null]);
  });

  it('says that the session closed if the caller hung up during the hold line', () => {
    const call = listening();
    asks(call, 'what time is it');
    call.script.after(3_000);
    const { replyId = '' } = call.script.last('say') ?? {};
    call.script.take(
      { type: 'playout.started', replyId, wireMs: call.script.nowMs },
      { type: 'leg.closed', reason: 'remote' },
      { type: 'playout.cleared', replyId, heard: 'One', isExact: true },
    );
    call.trace.close();
    expect(endOf(call).slice(0, 2)).toEqual(['session_closed', null]);
  });
});

describe('a turn whose playout stalls in a trace', () => {
  /** The agent begins its answer at 2,100 ms, and nothing of it is played. */
  function stalling(): TracedCall {
    const call = listening();
    asks(call, 'what time is it');
    call.script.answer('It is noon.').after(4_000);
    return call;
  }

  it('has failed as `stalled`', () => {
    const call = stalling();
    const replyId = replyOf(call.script);
    call.script.take({ type: 'playout.cleared', replyId, heard: '', isExact: true });
    call.trace.close();
    expect(endOf(call)).toEqual(['stalled', 'stalled', 6_100]);
  });

  it('has failed as `stalled`, also if its leg never says what was heard', () => {
    const call = stalling();
    call.script.after(4_000);
    call.trace.close();
    expect(endOf(call).slice(0, 2)).toEqual(['stalled', 'stalled']);
  });

  it('ended with the session, if the call ended before the leg said what was heard', () => {
    const call = listening();
    asks(call, 'what time is it');
    call.script.answer('It is noon.').after(200);
    call.script.take({ type: 'leg.closed', reason: 'remote' }).after(10_000);
    call.trace.close();
    expect(endOf(call).slice(0, 2)).toEqual(['session_closed', null]);
  });
});

describe('a turn that transfers its caller in a trace', () => {
  const RULE = { label: '', announcementMode: 'generated', announcement: '', error: null } as const;
  const onFailure = { action: 'return_to_agent', message: '' } as const;
  const transfer = { refuseQuestions: true, destinations: [{ ...RULE, onFailure }] };

  /** The model transfers the caller without words of its own. */
  function transferring(): TracedCall {
    const call = listening({ turns: { transfer } });
    asks(call, 'a person please');
    const replyId = replyOf(call.script);
    const asked = { callId: 'c1', toolName: '_transfer_call', input: '{}' };
    call.script.take(
      { type: 'reply.tool_called', replyId, call: asked, mode: 'transfer', source: 'builtin' },
      { type: 'reply.generated', replyId },
    );
    return call;
  }

  it.each([
    ['a person has joined the caller', { type: 'transfer.joined' }],
    ['the caller has left for a person', { type: 'transfer.finished', isDone: true, message: '' }],
  ] as const)('is `transferred` without an error once %s', async (_, fact) => {
    const call = transferring();
    await speaksLine(call);
    call.script.at(20_000).take(fact).at(21_000);
    call.trace.close();
    expect(endOf(call)).toEqual(['transferred', null, 20_000]);
    expect(call.named('text_to_speech Katie')).toEqual([
      expect.objectContaining({ ofTurn: 1, 'parley.line': null }),
    ]);
  });

  it('is `transferred` also if its announcement was never played', () => {
    const call = transferring();
    call.script.after(9_000);
    call.script.take({ type: 'transfer.joined' });
    call.trace.close();
    expect(endOf(call).slice(0, 2)).toEqual(['transferred', null]);
  });

  it('ends as the words after it if the transfer failed', async () => {
    const call = transferring();
    await speaksLine(call);
    call.script.after(5_000);
    call.script.take({ type: 'transfer.finished', isDone: false, message: 'The person is busy.' });
    answers(call, 'They are busy.');
    call.trace.close();
    expect(endOf(call).slice(0, 2)).toEqual(['completed', null]);
  });
});

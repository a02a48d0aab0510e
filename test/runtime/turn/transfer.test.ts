import { describe, expect, it } from 'vitest';
import type { TransferRules } from '#runtime/turn/machine/ending/transfer-rules.ts';
import { TurnScript } from './turn-script.ts';

const rule = {
  announcementMode: 'generated',
  announcement: '',
  onFailure: { action: 'return_to_agent', message: '' },
  error: null,
} as const;
const SALES = { ...rule, label: 'Sales' };
const SUPPORT = { ...rule, label: 'Support' };
const rules = (...destinations: TransferRules['destinations'][number][]): TransferRules => ({
  refuseQuestions: true,
  destinations,
});
const ONE = rules({ ...SALES, label: '' });

/** A caller who asked for a person, and a model that answers with `text` and a transfer. */
function asked(transfer: TransferRules | null, input: object = {}, text = ''): TurnScript {
  const script = TurnScript.listening({ transfer }).say('a person please');
  const replyId = script.last('generate')?.replyId ?? '';
  script.take({ type: 'reply.token', replyId });
  if (text !== '')
    script.take(
      { type: 'reply.piece', replyId, text },
      { type: 'reply.audible', replyId },
      { type: 'playout.started', replyId, wireMs: script.nowMs },
    );
  const call = { callId: 'c1', toolName: '_transfer_call', input: JSON.stringify(input) };
  return script.take(
    { type: 'reply.tool_called', replyId, call, mode: 'transfer', source: 'builtin' },
    { type: 'reply.generated', replyId },
  );
}
const announced = (script: TurnScript) => script.last('say')?.text;
/** Plays the last line to its end. */
function heard(script: TurnScript): TurnScript {
  const { replyId = '', text = '' } = script.last('say') ?? {};
  return script.take(
    { type: 'playout.started', replyId, wireMs: script.nowMs },
    { type: 'playout.finished', replyId, heard: text },
  );
}
const results = (script: TurnScript) =>
  script
    .all('record')
    .flatMap(({ item }) => (item.type === 'tool_result' ? [[item.status, item.error ?? item.output]] : []));
const failed = (script: TurnScript) =>
  script.take({ type: 'transfer.finished', isDone: false, message: 'The person is busy.' });

describe('the announcement of a transfer', () => {
  it.each<[string, TransferRules, object, string]>([
    [
      'is what the model gave with its call',
      ONE,
      { announcement: 'I am putting you through.' },
      'I am putting you through.',
    ],
    ['is a line of ours when it gave none', ONE, {}, "I'll connect you now."],
    [
      'is the configured message',
      rules({ ...SALES, announcementMode: 'fixed', announcement: 'Please hold.' }),
      { announcement: 'Other words.' },
      'Please hold.',
    ],
    [
      'falls back to the model’s when the message is empty',
      rules({ ...SALES, announcementMode: 'fixed' }),
      { announcement: 'Hold on.' },
      'Hold on.',
    ],
  ])('%s', (_, transfer, input, line) => {
    const script = asked(transfer, input);
    expect(announced(script)).toBe(line);
    expect(script.all('transfer')).toEqual([]);
    expect(heard(script).last('transfer')).toMatchObject({ destination: 0, notes: '' });
  });

  it('is skipped when it is off, and when the agent already spoke in the same reply', () => {
    expect(asked(rules({ ...SALES, announcementMode: 'off' })).all('transfer')).toHaveLength(1);
    const spoken = asked(ONE, { announcement: 'Twice?' }, 'I will connect you.');
    expect(spoken.all('say')).toEqual([]);
    expect(spoken.all('transfer')).toEqual([]);
    const replyId = spoken.last('generate')?.replyId ?? '';
    spoken.take({ type: 'playout.finished', replyId, heard: 'I will connect you.' });
    expect(spoken.all('transfer')).toHaveLength(1);
  });

  it('cannot be interrupted: speech and keys of the caller are ignored', () => {
    const script = asked(ONE);
    expect(script.last('closeRecognizer')).toBeDefined();
    script
      .voice(2_000)
      .take(
        { type: 'transcript.final', text: 'wait' },
        { type: 'digit.pressed', digit: '1' },
        { type: 'user.interrupted' },
      );
    expect([script.all('clear'), script.all('pause')]).toEqual([[], []]);
    expect(heard(script).all('transfer')).toHaveLength(1);
  });

  it('does not block the transfer if it never ends', () => {
    const script = asked(ONE).after(8_001);
    expect(script.all('transfer')).toHaveLength(1);
  });

  it('delays the transfer, if it is a question, until the caller has answered', () => {
    const script = asked(ONE, {}, 'Shall I connect you?');
    expect(script.all('transfer')).toEqual([]);
    expect(results(script)).toEqual([['failed', expect.stringContaining('ask the caller something')]]);
    expect(asked({ ...ONE, refuseQuestions: false }, { announcement: 'Ready?' }).last('say')?.text).toBe(
      'Ready?',
    );
  });
});

describe('the destination', () => {
  it('is found by its label, ignoring case, and gets the model’s notes', () => {
    const script = asked(rules(SALES, { ...SUPPORT, announcementMode: 'off' }), {
      destination: 'support',
      notes: 'Wants a refund.',
    });
    expect(script.last('transfer')).toMatchObject({ destination: 1, notes: 'Wants a refund.' });
  });

  it.each<[string, TransferRules | null, object, string]>([
    [
      'unknown to the agent',
      rules(SALES, SUPPORT),
      { destination: 'Ann' },
      'Unknown destination. Use one of: Sales, Support.',
    ],
    ['closed', rules({ ...SALES, error: 'self_call_blocked: no' }), {}, 'self_call_blocked: no'],
    ['none', null, {}, 'Nobody can be reached by transfer.'],
  ])('is missing if it is %s: the model is informed and continues', (_, transfer, input, error) => {
    const script = asked(transfer, input);
    expect(results(script)).toEqual([['failed', error]]);
    expect(script.asked().at(-1)).toBe(`tool: ${error}`);
    expect(script.state.phase.is).toBe('answering');
  });
});

describe('the outcome of a transfer', () => {
  it('done: the session ends escalated', () => {
    const script = heard(asked(ONE)).take({ type: 'transfer.finished', isDone: true, message: '' });
    expect(script.last('hangUp')?.reason).toBe('escalated');
    expect(results(script)).toEqual([['completed', expect.stringContaining('transferred')]]);
    expect(script.timeline()).toEqual(['user: a person please', "assistant: I'll connect you now."]);
  });

  it('joined: the agent and its time limit have left, and a hang-up ends the session escalated', () => {
    for (const end of [
      { type: 'leg.closed', reason: 'remote' },
      { type: 'transfer.finished', isDone: true, message: '' },
    ] as const) {
      const script = heard(asked(ONE))
        .take({ type: 'transfer.joined' })
        .after(2 * 1_800_000);
      expect(script.all('hangUp')).toEqual([]);
      expect(script.take(end).last('hangUp')?.reason).toBe('escalated');
      expect(results(script)).toHaveLength(1);
    }
  });

  it('failed: the agent is back and listens, and its model gets the reason', () => {
    const script = failed(heard(asked(ONE)));
    expect(script.asked().at(-1)).toBe('tool: The person is busy.');
    expect(script.last('openRecognizer')?.atMs).toBe(script.nowMs);
    script.answer('I am sorry, they are busy.');
    expect(script.state.phase.is).toBe('speaking');
  });

  it('failed: the configured words are said instead, or the call is ended', () => {
    const message = 'Nobody is there.';
    const back = failed(heard(asked(rules({ ...SALES, onFailure: { action: 'return_to_agent', message } }))));
    expect([announced(back), back.all('generate')]).toEqual([message, [expect.anything()]]);
    const over = failed(heard(asked(rules({ ...SALES, onFailure: { action: 'end_call', message } }))));
    expect([announced(over), heard(over).last('hangUp')?.reason]).toEqual([message, 'agent_hangup']);
  });

  it('the caller hangs up earlier: the session ends as a hang-up, and the called person is notified', () => {
    const script = heard(asked(ONE)).take({ type: 'leg.closed', reason: 'remote' });
    expect(script.all('stopTransfer')).toHaveLength(1);
    expect(script.after(1_000).last('hangUp')?.reason).toBe('user_hangup');
    expect(results(script)).toEqual([['failed', expect.stringContaining('hung up')]]);
  });

  it('the caller presses the page’s button to hang up: the call ends as when their connection closes', () => {
    const script = heard(asked(ONE)).take({ type: 'user.hung_up' });
    expect(script.all('stopTransfer')).toHaveLength(1);
    expect(script.after(1_000).last('hangUp')?.reason).toBe('user_hangup');
  });

  it('ended externally or by the time limit: the caller gets a goodbye', () => {
    const ended = heard(asked(ONE)).take({
      type: 'end.requested',
      reason: 'internal_error',
      sayGoodbye: true,
    });
    expect([ended.all('stopTransfer').length, announced(ended)]).toEqual([1, 'Goodbye.']);
    expect(heard(ended).last('hangUp')?.reason).toBe('internal_error');
    const late = heard(asked(ONE)).after(1_800_000);
    expect(heard(late).last('hangUp')?.reason).toBe('conversation_timeout');
  });
});

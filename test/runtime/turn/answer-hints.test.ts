/** The model's own word on what its question expects: read from its reply, and never spoken. */
import { describe, expect, it } from 'vitest';
import { createPieceCutter } from '#runtime/turn/loop/piece-cutter.ts';
import { withoutHints } from '#runtime/turn/text/answer-hints.ts';
import { DEFAULTS } from './asked.ts';
import { generated } from './generated-reply.ts';
import { TurnScript } from './turn-script.ts';

describe('a hint', () => {
  it.each([
    ['8 digits', { kind: 'digits', lengths: [8] }],
    ['4 or 6 digits', { kind: 'digits', lengths: [4, 6] }],
    ['4 to 6 digits', { kind: 'digits', lengths: [4, 5, 6] }],
    ['8 characters', { kind: 'code', lengths: [8] }],
    ['yes or no', { kind: 'yes_no', isOffer: false }],
    ['phone number', { kind: 'phone' }],
    ['e-mail address', undefined],
    ['email address', { kind: 'email' }],
    ['postal address', { kind: 'postal' }],
    ['date of birth', { kind: 'birth' }],
    ['full name', { kind: 'full_name' }],
    ['spelled name', { kind: 'spelling', names: [] }],
    ['one of small, medium, large', { kind: 'choice', options: ['small', 'medium', 'large'] }],
    ['one of a table or a room', { kind: 'choice', options: ['table', 'room'] }],
    ['anything', null],
    ['4 or 16 digits', { kind: 'digits', lengths: [4, 16] }],
    ['2 digits', undefined],
    ['200 digits', undefined],
    ['6 to 4 digits', undefined],
    ['one of yes', undefined],
    ['a miracle', undefined],
    [`one of ${'very '.repeat(30)}small, large`, undefined],
  ])('[expects %s] is read as %j', (what, expects) => {
    expect(withoutHints(`Which one? [expects ${what}]`).expects).toEqual(expects);
  });

  it.each([
    'What is your number? [expects 8 digits]',
    '[expects 8 digits] What is your number?',
    'What is your number? [Expects a miracle]',
    'What is your number? [expects 8 dig',
    `What is your number? [expects one of ${'many words, '.repeat(30)}]`,
    `What is your number? [expects one of ${'many words, '.repeat(30)}`,
  ])('is not in the pieces of “%s”, however its text arrives', (reply) => {
    for (const size of [1, 3, 100]) {
      const cutter = createPieceCutter();
      const pieces = [];
      for (let at = 0; at < reply.length; at += size) pieces.push(...cutter.push(reply.slice(at, at + size)));
      pieces.push(...cutter.finish());
      expect(pieces.map(({ text }) => text).join(' ')).toBe('What is your number?');
    }
  });

  it('is not cut, so that no half of it is read aloud', () => {
    const cutter = createPieceCutter();
    const long = 'word '.repeat(42);
    const pieces = [...cutter.push(`${long}[expects 8 digits]`), ...cutter.finish()];
    expect(pieces.map(({ text }) => text).join(' ')).not.toContain('digits');
    expect(cutter.expects).toEqual({ kind: 'digits', lengths: [8] });
  });

  it('leaves other brackets as they are', () => {
    expect(withoutHints('See [our page] for [expectations].')).toEqual({
      text: 'See [our page] for [expectations].',
    });
  });
});

/** The agent says `text`, which the model has marked with a hint, and the caller hears `heard` of it. */
function said(text: string, expects: 'anything' | 8, heard = text): TurnScript {
  const script = TurnScript.listening(DEFAULTS).say('my card is lost');
  const replyId = script.last('generate')?.replyId ?? '';
  script.take(
    { type: 'reply.token', replyId },
    { type: 'reply.piece', replyId, text },
    {
      type: 'reply.expects',
      replyId,
      expects: expects === 'anything' ? null : { kind: 'digits', lengths: [expects] },
    },
    { type: 'reply.generated', replyId },
    { type: 'reply.audible', replyId },
    { type: 'playout.started', replyId, wireMs: script.nowMs },
  );
  script.after(1_000);
  return heard === text
    ? script.take({ type: 'playout.finished', replyId, heard })
    : script.take({ type: 'playout.cleared', replyId, heard, isExact: true });
}

describe('an agent whose model gives hints', () => {
  it('waits for what the model expects, where the words of the question do not show it', () => {
    const script = said('Which member number is on it?', 8);
    expect(script.state.expects).toEqual({ kind: 'digits', lengths: [8] });
  });

  it('expects nothing where the model expects anything', () => {
    expect(said('Is that your number?', 'anything').state.expects).toBeNull();
  });

  it('goes by the words that were heard if the reply was cut off', () => {
    const question = 'Is that right? Which member number is on it?';
    expect(said(question, 8, 'Is that right?').state.expects).toMatchObject({ kind: 'yes_no' });
  });
});

describe('a reply with a hint', () => {
  it('is voiced, shown and logged without it, and reports it before its end', async () => {
    const { facts, spoken, isDone } = generated([
      { type: 'text', text: 'Which number is on it? [exp' },
      { type: 'text', text: 'ects 8 digits]' },
    ]);
    await expect.poll(isDone).toBe(true);
    const kept = facts.filter(({ type }) =>
      ['reply.piece', 'reply.expects', 'reply.generated'].includes(type),
    );
    expect(kept).toEqual([
      { type: 'reply.piece', replyId: 'r1', text: 'Which number is on it?' },
      { type: 'reply.expects', replyId: 'r1', expects: { kind: 'digits', lengths: [8] } },
      { type: 'reply.generated', replyId: 'r1' },
    ]);
    expect(spoken).toEqual(['Which number is on it?']);
  });
});

/** The words of automated lines, in a corpus that the rules were written with and one that was held back. */
import { describe, expect, it } from 'vitest';
import { CORPUS } from '#bench/lines/corpus.ts';
import { HELD_BACK } from '#bench/lines/held-back.ts';
import { PUBLISHED } from '#bench/lines/published.ts';
import { mistaken } from '#bench/lines/table.ts';
import { isMailbox } from '#runtime/turn/machine/opening/answering-machine.ts';
import { announced, isRepeated, lineWords } from '#runtime/turn/text/line-words.ts';

describe('the words of a line', () => {
  it('of the corpus, and published ones, are taken for what they are', () => {
    expect(mistaken([...CORPUS, ...PUBLISHED]).map(({ taken, text }) => `${taken}: ${text}`)).toEqual([]);
  });

  it('that were held back are taken for what they are, at least nine of ten', () => {
    expect(mistaken(HELD_BACK).length).toBeLessThanOrEqual(HELD_BACK.length / 10);
  });

  it('of a person are never taken for a machine, which may be hung up on', () => {
    const people = [...CORPUS, ...HELD_BACK].filter(({ is }) => is === 'person');
    expect(mistaken(people).filter(({ taken }) => taken === 'machine' || taken === 'menu')).toEqual([]);
  });
});

it.each([
  'I am afraid she is unavailable, you may leave a message with me.',
  'She is not available today, please leave a message and I will pass it on.',
  'I can put you through to her voicemail, she is not available.',
  'You have reached the wrong number, this is not the answering machine.',
  'Er ist nicht verfügbar, hinterlassen Sie bitte eine Nachricht bei mir.',
])('a person who speaks of messages is no mailbox: %s', (text) => {
  const taken = lineWords(text, { isMailbox: isMailbox(text), isAutomated: true, isPerson: false });
  expect([isMailbox(text), taken.is === 'machine']).toEqual([true, false]);
});

it('a mailbox with a tone is one, however politely it asks', () => {
  const text = 'Ann is not available. You may leave a message after the tone.';
  expect(lineWords(text, { isMailbox: isMailbox(text), isAutomated: true, isPerson: false }).is).toBe(
    'machine',
  );
});

describe('an announcement', () => {
  const again = (one: string, other: string) => isRepeated(announced(one), announced(other));

  it('is known again although a number in it or a word of the recogniser differs', () => {
    expect(
      again(
        'You are number three in the queue, please stay on the line',
        'You are number two in the queue, please stay on the line',
      ),
    ).toBe(true);
  });

  it('is another one with other words', () => {
    expect(again('All our agents are busy at the moment', 'Please enter your account number now')).toBe(
      false,
    );
  });

  it('of few words is never known again: people say "Hello?" twice', () => {
    expect(again('Hello? Hello?', 'Hello?')).toBe(false);
  });
});

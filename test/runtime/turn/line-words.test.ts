/** The words of automated lines, in a corpus that the rules were written with and one that was held back. */
import { describe, expect, it } from 'vitest';
import { CORPUS } from '#bench/lines/corpus.ts';
import { HELD_BACK } from '#bench/lines/held-back.ts';
import { PUBLISHED } from '#bench/lines/published.ts';
import { mistaken } from '#bench/lines/table.ts';
import { announced, isRepeated } from '#runtime/turn/text/line-words.ts';

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

import { describe, expect, it } from 'vitest';
import { keywordOf } from '#control-plane/jobs/sms/keywords.ts';
import { smsParts } from '#control-plane/jobs/text-sessions/sms-parts.ts';

describe('the parts of an answer by SMS', () => {
  it('a short answer is one message, an empty one is none', () => {
    expect(smsParts(' Good day! ')).toEqual(['Good day!']);
    expect(smsParts(' \n')).toEqual([]);
  });

  it('a long answer is cut at sentences, and nothing of it is lost', () => {
    const text = 'The kitchen is open until ten. '.repeat(100).trim();
    const parts = smsParts(text);
    expect(parts).toHaveLength(2);
    expect(parts.join(' ')).toBe(text);
    for (const part of parts) expect(part.endsWith('.')).toBe(true);
  });

  it('text without any space is cut, but not within a character', () => {
    for (const part of smsParts('😀'.repeat(1_000))) expect(part.isWellFormed()).toBe(true);
  });

  it('more than three messages are never sent: the last one shows that something is missing', () => {
    const parts = smsParts('word '.repeat(5_000));
    expect(parts).toHaveLength(3);
    expect(parts.at(-1)?.endsWith('…')).toBe(true);
    for (const part of parts) expect(part.length).toBeLessThanOrEqual(1_600);
  });
});

describe('a keyword', () => {
  it.each([
    ['STOP', 'STOP'],
    [' stop ', 'STOP'],
    ['Unsubscribe.', 'STOP'],
    ['help', 'HELP'],
    ['unstop', 'START'],
    ['please stop', null],
    ['yes', null],
    ['', null],
  ])('%j means %j: it must be the whole message', (text, keyword) => {
    expect(keywordOf(text)).toBe(keyword);
  });
});

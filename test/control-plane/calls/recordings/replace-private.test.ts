import { describe, expect, it } from 'vitest';
import { replaceKeys, replacePrivate } from '#control-plane/calls/recordings/replace-private.ts';

describe('private data', () => {
  it.each([
    ['My number is five five five, one two three four.', 'My number is one two three, four five six seven.'],
    ['call +1 415 555-0123 please', 'call +1 234 567-8901 please'],
    ['it is five five five dash one two three', 'it is one two three dash four five six'],
    ['nineteen eighty-five, uh, forty-two', 'one two-three, uh, four-five'],
    ['my IBAN is DE89 3704 0044', 'my IBAN is DE12 3456 7890'],
    ['passport C01X0006H', 'passport C12X3456H'],
    ['it is ٥٥٥٠١٢٣', 'it is 1234567'],
    ['a table for two at seven', 'a table for two at seven'],
    ['at 10:30 or 11:45', 'at 10:30 or 11:45'],
  ])('in numbers: “%s” becomes “%s”', (text, replaced) => {
    expect(replacePrivate([text]).texts).toEqual([replaced]);
  });

  it.each([
    ['my name is Anna Schmidt and I', 'my name is Alex Miller and I'],
    ['my last name is schmidt', 'my last name is Alex'],
    ['my name is Anna Maria Schmidt.', 'my name is Alex Miller Alex'],
    ['“My name is Schmidt?!”', '“My name is Alex'],
    ["Hi, I'm Anna", "Hi, I'm Alex"],
    ["i'm looking for a table", "i'm looking for a table"],
    ['this is about my order', 'this is about my order'],
    ['this is wrong', 'this is wrong'],
    ['S C H M I D T', 'A L E X A L E'],
    ['S-C-H-M-I-D-T', 'A-L-E-X-A-L-E'],
  ])('in names: “%s” becomes “%s”', (text, replaced) => {
    expect(replacePrivate([text]).texts).toEqual([replaced]);
  });

  it.each([
    ['it is anna at example dot co dot uk', 'it is alex at example dot com'],
    ['it is anna dot schmidt at my dash shop dot org', 'it is alex at example dot com'],
    ['it is anna at gmail.com', 'it is alex at example dot com'],
    ['it is anna @ gmail.com', 'it is alex at example dot com'],
    ['write to Anna.S@example.org', 'write to alex@example.com'],
    ['come at 7.30 or at noon', 'come at 7.30 or at noon'],
  ])('in addresses: “%s” becomes “%s”', (text, replaced) => {
    expect(replacePrivate([text]).texts).toEqual([replaced]);
  });

  it('is replaced where one text ends and the next begins, and no text with words becomes empty', () => {
    const { texts, replaced } = replacePrivate([
      ...['it is five five', 'five one two', ''],
      ...['anna at example', 'dot co', 'dot uk'],
    ]);
    expect(texts).toEqual(['it is one two', 'three four five', '', 'alex at example', 'dot com', 'Alex']);
    expect(replaced).toEqual({ numbers: 1, email_addresses: 1, names: 0 });
  });

  it('is counted by kind', () => {
    expect(replacePrivate(['My name is Anna, my number is 5550123']).replaced).toEqual({
      numbers: 1,
      email_addresses: 0,
      names: 1,
    });
  });

  it('is replaced in long entries of keys and in groups of a number, and not in choices of a menu', () => {
    expect(replaceKeys(['98765#'])).toEqual({ entries: ['12345#'], numbers: 1 });
    expect(replaceKeys(['987', '654'])).toEqual({ entries: ['123', '456'], numbers: 1 });
    expect(replaceKeys(['2', '1', '4', '3', '5'])).toEqual({
      entries: ['2', '1', '4', '3', '5'],
      numbers: 0,
    });
  });
});

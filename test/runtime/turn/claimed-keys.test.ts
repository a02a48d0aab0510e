/** Replies that say they press keys: which words do, and what follows if the reply presses none. */
import { describe, expect, it } from 'vitest';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { claimsKeys } from '#runtime/turn/text/claimed-keys.ts';
import { TurnScript } from './turn-script.ts';

describe('the claim to press keys', () => {
  it.each([
    ['en', 'I pressed 2.'],
    ['en', "I've pressed two for you."],
    ['en', 'I’ll press the star key now.'],
    ['en', 'Okay, pressing 1 now.'],
    ['en', "I'm entering your code, one two three four."],
    ['en', 'Let me press pound.'],
    ['de', 'Ich drücke jetzt die 2.'],
    ['de', 'Ich habe die Zwei gedrückt.'],
    ['de', 'Ich wähle die Durchwahl 204.'],
    ['es', 'He pulsado el dos.'],
    ['es', 'Voy a marcar la extensión.'],
    ['fr', "J'appuie sur la touche 2."],
    ['fr', 'Je compose le 12.'],
    ['it', 'Ho premuto il due.'],
    ['nl', 'Ik heb op de twee gedrukt.'],
    ['pt', 'Pressionei o dois.'],
    ['pt', 'Vou digitar 1234.'],
  ])('is heard in %s: %s', (language, text) => {
    expect(claimsKeys(text, language)).toBe(true);
  });

  it.each([
    ['en', 'Shall I press 2?'],
    ['en', 'Please press 2.'],
    ['en', "I've entered your booking for Friday."],
    ['en', 'It is a pressing matter.'],
    ['en', 'I am not pressing 2.'],
    ['en', 'I can press a key for you.'],
    ['de', 'Drücken Sie bitte die 2.'],
    ['de', 'Ich wähle meine Worte mit Bedacht.'],
    ['de', 'Ich habe noch keine Taste gedrückt.'],
    ['es', 'He marcado una cita.'],
    ['es', 'Todavía no he pulsado el dos.'],
    ['fr', 'Appuyez sur la touche 2.'],
    ['it', 'Prema il tasto due.'],
    ['it', 'Non ho premuto il due.'],
    ['nl', 'Druk op de twee.'],
    ['pt', 'Aperte o dois.'],
    ['pt', 'Ainda não pressionei o dois.'],
    ['ja', '2を押しました。'],
  ])('is not heard in %s: %s', (language, text) => {
    expect(claimsKeys(text, language)).toBe(false);
  });
});

describe('a reply that claims to press keys', () => {
  const said = (replyId: string, text: string, isHeld = false): TurnFact => ({
    type: 'reply.piece',
    replyId,
    text,
    ...(isHeld && { isHeld }),
  });
  const generated = (replyId: string): TurnFact => ({ type: 'reply.generated', replyId });
  const press = (replyId: string): TurnFact => ({
    type: 'reply.tool_called',
    replyId,
    call: { callId: `of-${replyId}`, toolName: '_press_keys', input: '{"keys":"2"}' },
    mode: 'keys',
    source: 'builtin',
  });
  const asked = () => TurnScript.listening().say('for refills press two');
  /** The words of a reply are played to their end. */
  const heard = (script: TurnScript, replyId: string, text: string) =>
    script.take(
      { type: 'reply.audible', replyId },
      { type: 'playout.started', replyId, wireMs: script.nowMs },
      { type: 'playout.finished', replyId, heard: text },
    );

  it('and calls the tool says its words, and then presses', () => {
    const script = asked().take(said('r1', 'I press two.', true), press('r1'));
    expect(script.all('release').map(({ replyId }) => replyId)).toEqual(['r1']);
    heard(script.take(generated('r1')), 'r1', 'I press two.');
    expect(script.all('pressKeys')).toHaveLength(1);
    expect(script.all('generate')).toHaveLength(1);
  });

  it('and calls no tool is never said: the model is told why and asked again', () => {
    const script = asked().take(said('r1', 'I pressed two.', true), generated('r1'));
    expect(script.all('discard').map(({ replyId }) => replyId)).toEqual(['r1']);
    expect(script.all('release')).toEqual([]);
    expect(script.asked().at(-1)).toMatch(/^user: \[Your reply was not spoken/);
    script.take(press('r2'), generated('r2'));
    expect(script.all('pressKeys')).toHaveLength(1);
    expect(script.take({ type: 'keys.sent', pressId: 'of-r2' }).timeline()).toEqual([
      'user: for refills press two',
    ]);
    expect(script.decisions('failure').map(({ rule }) => rule)).toEqual(['claimed_keys']);
  });

  it('keeps the words before the claim, which are not said again', () => {
    const script = asked().take(
      said('r1', 'All right.'),
      said('r1', 'I pressed two.', true),
      generated('r1'),
    );
    heard(script, 'r1', 'All right.');
    expect(script.asked().slice(-2)).toEqual([
      'assistant: All right.',
      expect.stringMatching(/^user: \[Your reply/),
    ]);
    script.take(press('r2'), generated('r2'));
    expect(script.all('pressKeys')).toHaveLength(1);
  });

  it('twice is asked no third time for it: it counts as a reply without words', () => {
    const script = asked().take(said('r1', 'I pressed two.', true), generated('r1'));
    script.take(said('r2', 'I have pressed it.', true), generated('r2'));
    expect(script.all('release')).toEqual([]);
    expect(script.all('generate')).toHaveLength(3);
    script.take(said('r3', 'I have pressed it.', true), generated('r3'));
    expect(script.all('generate')).toHaveLength(3);
    expect(script.last('say')?.text).toContain('had a problem');
  });

  it('in words that may mean something else is said the second time', () => {
    const booked = "I've entered two people for Friday.";
    const script = asked().take(said('r1', booked, true), generated('r1'));
    expect(script.all('release')).toEqual([]);
    script.take(said('r2', booked, true), generated('r2'));
    expect(script.all('release').map(({ replyId }) => replyId)).toEqual(['r2']);
    expect(heard(script, 'r2', booked).timeline().at(-1)).toBe(`assistant: ${booked}`);
    expect(script.all('generate')).toHaveLength(2);
  });

  it('may speak of keys that it has pressed before', () => {
    const script = asked().take(press('r1'), generated('r1'), { type: 'keys.sent', pressId: 'of-r1' });
    script.say('which key did you press');
    script.take(said('r2', 'I pressed two.', true), generated('r2'));
    script.take(said('r3', 'I pressed two.', true), generated('r3'));
    expect(script.all('release').map(({ replyId }) => replyId)).toEqual(['r3']);
  });
});

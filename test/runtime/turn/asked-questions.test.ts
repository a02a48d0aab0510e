/** Questions for the same thing in other words, in the languages whose questions are known. */
import { describe, expect, it } from 'vitest';
import { judgeCompleteness } from '#runtime/turn/machine/endpointing/endpointing.ts';
import { fitOf } from '#runtime/turn/machine/endpointing/expected-answer.ts';
import { expectationOf } from '#runtime/turn/text/expectation.ts';

describe('a question', () => {
  it.each([
    ['en', 'What number can I reach you at?', 'phone'],
    ['en', 'Can you read me the eight digits on the back?', 'digits'],
    ['en', 'How is your last name spelled?', 'spelling'],
    ['de', 'Unter welcher Nummer erreichen wir Sie?', 'phone'],
    ['de', 'Nennen Sie mir bitte die achtstellige Kundennummer.', 'digits'],
    ['de', 'Wie schreibt man Ihren Namen?', 'spelling'],
    ['fr', 'À quel numéro peut-on vous joindre ?', 'phone'],
    ['fr', "Comment s'écrit votre nom ?", 'spelling'],
    ['es', '¿A qué número le podemos llamar?', 'phone'],
    ['es', '¿Cómo se escribe su apellido?', 'spelling'],
    ['it', 'A che numero la possiamo richiamare?', 'phone'],
    ['it', 'Come si scrive il suo cognome?', 'spelling'],
    ['nl', 'Op welk nummer kunnen we u bereiken?', 'phone'],
    ['nl', 'Hoe schrijf je uw achternaam?', 'spelling'],
    ['pt', 'Para que número podemos ligar?', 'phone'],
    ['pt', 'Como se escreve o seu apelido?', 'spelling'],
    ['pt', 'De que se trata?', undefined],
    ['en', 'Which table? Please stay on the line or call back.', undefined],
    // An acknowledgement of the agent before it.
    ['en', 'Perfect, thank you, and your email?', 'email'],
    ['de', 'Sehr gut, und Ihre Handynummer?', 'phone'],
    ['fr', "D'accord, merci, et votre date de naissance ?", 'birth'],
    ['es', 'Muy bien, ¿y su teléfono?', 'phone'],
    ['it', 'Va bene, e il suo indirizzo?', 'postal'],
    ['nl', 'Heel goed, en uw e-mailadres?', 'email'],
    ['pt', 'Está bem, e o seu telefone?', 'phone'],
    ['en', 'Great, and your phone number and email?', undefined],
    // A question for yes or no begins with a word that is an acknowledgement elsewhere.
    ['pt', 'É o seu telefone?', undefined],
    ['en', 'Correct phone number?', undefined],
    // A request before it.
    ['en', 'I need the six digits on your card. Could you read them out?', 'digits'],
    ['de', 'Ich brauche Ihre Telefonnummer. Wie lautet sie?', 'phone'],
    ['es', 'Necesito su correo. ¿Me lo puede decir?', 'email'],
    ['en', 'I need your phone number. Is that for pickup or delivery?', undefined],
    ['en', 'I need your phone number. What is your email?', undefined],
    ['en', 'I need your phone number. And how long have you been with us?', undefined],
  ])('in %s: %s → %s', (language, reply, kind) => {
    expect(expectationOf(reply, language)?.kind).toBe(kind);
  });
});

describe('words that are something else in one language', () => {
  it('"um" is a digit in Portuguese, also at the end of a number', () => {
    const said = 'nove um dois três quatro cinco seis sete oito um um';
    expect(fitOf(said, { kind: 'digits', lengths: [11] }, 'pt')?.goesOn).toBeLessThan(0.1);
    expect(judgeCompleteness('quero um', 'pt').rule).toBe('hanging_word');
  });

  it.each([
    ['de', 'das geht leider nicht'],
    ['nl', 'dat werkt helaas niet'],
  ])('in %s: “%s” is a whole sentence', (language, said) => {
    expect(judgeCompleteness(said, language).rule).toBe('plain');
  });

  it('in de: more follows a preposition with its article', () => {
    expect(judgeCompleteness('ich möchte meinen Termin am', 'de').rule).toBe('hanging_word');
  });
});

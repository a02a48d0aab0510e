/** Postal addresses: what a question for one looks like, and how much of one the caller has said. */
import { describe, expect, it } from 'vitest';
import { judgeAnswer, waitMs } from '#runtime/turn/machine/endpointing/endpointing.ts';
import { fitOf } from '#runtime/turn/machine/endpointing/expected-answer.ts';
import { expectationOf } from '#runtime/turn/text/expectation.ts';
import { asked, DEFAULTS } from './asked.ts';

const USUAL_PAUSE_MS = 600;

/** From the end of the caller's speech until the agent takes the turn, in ms. */
function wait(answer: string, language = 'en'): number {
  const config = { ...asked('Your address?').state.config, ...DEFAULTS };
  return Math.round(waitMs(judgeAnswer(answer, { kind: 'postal' }, language), config, USUAL_PAUSE_MS));
}

describe('a question for an address', () => {
  it.each([
    ['en', "What's your address?", 'postal'],
    ['en', 'Could you give me the delivery address, please?', 'postal'],
    ['en', "What's your email address?", 'email'],
    ['en', 'Your address and phone number?', undefined],
    ['en', 'Is that still your address?', 'yes_no'],
    ['en', 'Where should we deliver it? I need your address.', 'postal'],
    ['en', 'What time suits you? I also need your email.', undefined],
    ['en', 'Which city is your address in?', undefined],
    ['de', 'Wie lautet Ihre Anschrift?', 'postal'],
    ['de', 'Ihre E-Mail-Adresse?', 'email'],
    ['fr', 'Quelle est votre adresse ?', 'postal'],
    ['fr', 'Quelle est votre adresse e-mail ?', 'email'],
    ['es', '¿Cuál es su dirección?', 'postal'],
    ['es', '¿Cuál es su dirección de correo electrónico?', 'email'],
    ['it', 'Qual è il suo indirizzo?', 'postal'],
    ['it', 'Qual è il suo indirizzo email?', 'email'],
    ['nl', 'Wat is uw adres?', 'postal'],
    ['pt', 'Qual é a sua morada?', 'postal'],
  ])('in %s: %s → %s', (language, reply, kind) => {
    expect(expectationOf(reply, language)?.kind).toBe(kind);
  });
});

describe('an address', () => {
  it.each([
    ['en', '12 Main Street, Springfield, Illinois 62704'],
    ['en', 'twelve Main Street Springfield six two seven oh four'],
    ['en', '10 Downing Street, London SW1A 2AA'],
    ['de', 'Hauptstraße 5, 80331 München'],
    ['de', 'Hauptstraße fünf acht null drei drei eins München'],
    ['de', 'Kärntner Straße 12, 1010 Wien'],
    ['fr', '12 rue de la Paix, 75002 Paris'],
    ['es', 'calle Mayor 5, 28013 Madrid'],
    ['it', 'via Roma 5, 20121 Milano'],
    ['nl', 'Kerkstraat 5, 1017 GA Amsterdam'],
    ['pt', 'rua Augusta 5, 1100-048 Lisboa'],
    ['pt', 'rua das Flores 80, Curitiba, 80020-090'],
  ])('in %s: %s is whole, and waits half of response_wait_ms', (language, answer) => {
    expect(fitOf(answer, { kind: 'postal' }, language)?.note).toBe('expected an address, has it');
    expect(wait(answer, language)).toBe(275);
  });

  it.each([
    ['de', 'Hauptstraße', 'no house number'],
    ['de', 'Hauptstraße 5 80331', 'no town'],
    ['de', 'Hauptstraße 5 803', 'no postcode'],
    ['de', 'Hauptstraße 5, 61348 Bad', 'no town'],
    ['nl', 'Kerkstraat 5 1017 G A', 'no town'],
    ['fr', '12 rue de la Paix 75002', 'no town'],
    ['en', 'Main Street', 'no house number'],
  ])('in %s: of %s a part is missing: %s', (language, answer, missing) => {
    expect(fitOf(answer, { kind: 'postal' }, language)?.note).toBe(`expected an address, has ${missing}`);
    expect(wait(answer, language)).toBe(2_475);
  });

  it.each([
    ['en', '12 Main Street'],
    ['en', '12 Main Street apartment 4'],
    ['en', '12 Main Street, Springfield'],
    ['pt', 'rua das Flores 80, Curitiba'],
    ['de', 'Hauptstraße 5'],
    ['fr', '12 rue de la Paix'],
  ])('in %s: after %s some callers say no more, and it waits as an unfinished turn', (language, answer) => {
    expect(wait(answer, language)).toBe(1_375);
  });

  it.each([
    ['en', 'I moved last year.'],
    ['en', 'I live on Main Street in Springfield'],
    ['de', 'Hauptstraße 5 in München'],
    ['de', 'Das steht doch in Ihrem System.'],
  ])('in %s: %s is judged by itself', (language, answer) => {
    expect(fitOf(answer, { kind: 'postal' }, language)).toBeNull();
  });
});

/**
 * The agent's question decides how long it waits for the caller to go on: shorter after the whole answer,
 * longer after a part of it, and otherwise as after any words. Waits of an agent with default settings.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeAnswer, waitMs } from '#runtime/turn/machine/endpointing/endpointing.ts';
import { fitOf } from '#runtime/turn/machine/endpointing/expected-answer.ts';
import { expectationOf } from '#runtime/turn/text/expectation.ts';
import { asked, type Changes, DEFAULTS } from './asked.ts';
import { TurnScript } from './turn-script.ts';

/** From the end of the caller's speech until the agent takes the turn, in ms. */
function wait(question: string, answer: string, changes: Changes = {}): number {
  const script = asked(question, changes)
    .after(400)
    .voice(600)
    .take({ type: 'transcript.final', text: answer });
  const endMs = script.nowMs;
  const before = script.all('generate').length;
  script.after(6_000);
  return Math.round((script.all('generate')[before]?.atMs ?? Number.NaN) - endMs);
}

/** The wait without an expectation. */
const OPEN = 'Tell me about it.';

describe('the wait after an answer', () => {
  it.each([
    ['Is that correct?', 'Yes, that is correct.', 550, 275],
    ['Is there anything else I can help you with?', 'No.', 550, 275],
    ['Is there anything else I can help you with?', 'No, thank you.', 550, 275],
    ['Is there anything else I can help you with?', 'no', 550, 275],
    ['Is there anything else I can help you with?', "That's all, thank you very much.", 550, 275],
    ['Can you confirm the last four digits of your card?', '44 12', 1_375, 275],
    ['Is that for pickup or delivery?', 'Delivery, please.', 550, 275],
    ["What's your phone number?", 'five five five one two three four five six seven', 550, 275],
    ["What's your phone number?", "It's 555 123 4567.", 550, 275],
    ['What are the last four digits of your card?', '4 4 1 2', 1_375, 275],
    ['Please tell me the six digit code.', 'one two double five six six', 1_375, 275],
    ['And your zip code?', '94110', 1_375, 275],
    ["What's your email address?", 'anna at gmail dot com', 550, 275],
    ["What's your email address?", 'anna at example dot com, thank you.', 550, 275],
    ["What's your email address?", 'anna at example dot com dot au', 550, 275],
    ["What's your phone number?", '555 123 4567, thank you.', 550, 275],
    ["What's your date of birth?", 'March 5th, 1985.', 550, 275],
    ["What's your date of birth?", 'the fifth of March nineteen eighty-five', 550, 275],
    ["What's your phone number?", 'two oh six twelve thirty-four oh one nine', 550, 275],
    ['Could you spell your last name?', 'Smith, S M I T H', 550, 275],
    ['How do you spell Kowalski?', 'K as in Kilo, O W A L S K I', 1_375, 275],
    ['What are the last four digits of your phone number?', 'four five six seven', 1_375, 275],
  ])(
    '%s — %s: %i ms without the question, %i ms with it, because it is complete',
    (question, answer, without, ms) => {
      expect([wait(OPEN, answer), wait(question, answer)]).toEqual([without, ms]);
    },
  );

  it.each([
    ["What's your phone number?", 'five five', 1_375, 2_475],
    ["What's your phone number?", '555 123', 1_375, 2_475],
    ["What's your phone number?", 'my number is five five five um one two', 1_375, 2_475],
    ["What's your phone number?", 'one two three four five six seven eight nine double', 550, 2_475],
    ["What's your phone number?", 'seven twenty thirty four', 1_375, 2_475],
    ["What's your date of birth?", 'the fifth of March', 550, 2_475],
    ['What are the last four digits of your card?', '44', 550, 2_475],
    ['What is your 16-digit card number?', '4000 1234 56', 550, 2_475],
    ["What's your email address?", 'anna at example', 550, 2_475],
    ["What's your date of birth?", 'March 5th', 550, 2_475],
    // Some callers say no other.
    ["What's your full name?", 'Maria.', 550, 1_375],
    ['Could you spell your last name?', 'S.', 550, 2_475],
    ['How do you spell Kowalski?', 'K O W A', 1_375, 2_475],
  ])(
    '%s — %s: %i ms without the question, %i ms with it, because a part is missing',
    (question, answer, without, ms) => {
      expect([wait(OPEN, answer), wait(question, answer)]).toEqual([without, ms]);
    },
  );

  it.each([
    ['Would you like a window seat?', 'Yes.'],
    ['Would you like a window seat?', 'Yes, please.'],
    ['Do you have any allergies?', 'Yes, I do.'],
    ['Would you like to come a bit later?', 'No, thanks.'],
    ['Would you like a window seat?', 'Yes, but'],
    ['Would you like a window seat?', 'Yes,'],
    ['Would you like a window seat?', 'No.'],
    ['Would you like a window seat?', 'How much is it?'],
    ['Is there anything else I can help you with?', 'Yes.'],
    ['Could you tell me your name?', 'Yes.'],
    ['Is that for pickup or delivery?', 'I do not know yet.'],
    ['Would you like a window seat?', 'No, thank you.'],
    ['Would you like a window seat?', 'No, please.'],
    ['Would you like a window seat?', 'No, sir.'],
    ['Your phone number and email?', '555 123 4567'],
    ['Your zip code and date of birth?', '94110'],
    ["What's your phone number? And your email?", 'anna at gmail dot com'],
    ['Is that correct? Please also tell me your phone number.', 'Yes, it is.'],
    ['An existing booking or something else?', 'Something else.'],
    ['A member number or a policy number?', 'Yes, a policy number.'],
    ['A member number or a passport?', 'A member number.'],
    ['Is that for pickup or delivery?', 'Not delivery.'],
    ["What's your phone number?", 'Why do you need it?'],
    ["What's your phone number?", '555 123 4567, no.'],
    ["What's your phone number?", '555 123 4567, um.'],
    ["What's your phone number?", '555 124, well, 555 123 4567.'],
    ["What's your phone number?", '44 7911 1234'],
    ["What's your phone number?", '9123 4567'],
    ["What's your phone number?", "I don't have one."],
    ['Is that your phone number?', 'No, the last digit is 5.'],
    ['What are the last four digits of your card?', '4 4 1, no, 4'],
    ['What are the last four digits of your card?', '4 4, no, 4 4 1 2'],
    ['Did you get our email?', 'I looked at it'],
    ["What's your email address?", 'I looked at it'],
    ["What's your email address?", 'anna at example dot com'],
    ["What's your full name?", 'Pardon?'],
    ["What's your full name?", 'Pardon'],
    ["What's your phone number?", '555 123 4567 extension 12'],
    ["What's your phone number?", 'plus four four two zero seven nine four six zero'],
    ["What's your phone number?", '+44 20 7946 09'],
    ["What's your phone number?", 'double oh four four seven nine one one one two'],
    ["What's your phone number?", 'five five five one two three four.'],
    ["What's your email address?", 'I have none.'],
    ["What's your phone number?", 'The one ending in 4567.'],
    ["What's your phone number?", 'room 204'],
    ["What's your email address?", 'we met at Google yesterday'],
    ["What's your date of birth?", '3/5/85'],
    ["What's your date of birth?", 'March 5 85'],
    ['When is the birthday party?', 'June 5th'],
    ["When's your birthday?", 'June 5th'],
    ['What is your birthday?', 'June 5th'],
    ['In what year were you born?', '85'],
    ['On what day were you born?', 'the 5th'],
    ['Where were you born?', 'in District 9'],
    ['In which country were you born?', 'Area 51'],
    ["I have 555 123. What's the rest of your phone number?", '4567'],
    ["What's the area code of your phone number?", '555'],
    ['When did you change your phone number?', '2019'],
    ["What's your phone number with the country code?", '33 612 345 67'],
    ["What's your phone number?", '49 171 12345'],
    ["What's your phone number?", 'three seven one two nine one two three four five'],
    ["What's your date of birth?", 'March fifth nineteen eighty'],
    ["What's your date of birth?", 'March fifth two thousand'],
    ["What's your date of birth?", 'may I speak to your colleague'],
    ['Please tell me the six digit code.', '1 2 3 4 5 6,'],
    ['How do you spell Smith?', 'S M I T H,'],
    ['Would you like to sit in or out?', 'I would like to sit in'],
    ['Would you like to book a table?', 'Absolutely.'],
    ['Please hold while I check your email.', "I'm at reception"],
    ['How can I help you?', 'I would like to book a table.'],
    ['I have booked it for you.', 'Yes.'],
  ])('%s — %s: the same as without the question', (question, answer) => {
    expect(wait(question, answer)).toBe(wait(OPEN, answer));
  });
});

describe('the settings bound the wait', () => {
  const digits = ["What's your phone number?", '555 123 4567'] as const;

  it('no answer comes before its words are judged', () => {
    for (const responseWaitMs of [300, 550, 2_000])
      for (const eagerness of ['eager', 'balanced', 'relaxed'] as const)
        expect(wait(...digits, { responseWaitMs, eagerness })).toBeGreaterThanOrEqual(200);
  });

  it('no complete answer comes before half of response_wait_ms: who sets it high wants patience', () => {
    expect(wait(...digits, { responseWaitMs: 2_000 })).toBe(1_000);
    expect(wait(...digits, { responseWaitMs: 2_000, eagerness: 'eager' })).toBe(1_000);
  });

  it('no complete answer waits longer than response_wait_ms', () => {
    for (const responseWaitMs of [300, 550, 2_000])
      for (const eagerness of ['eager', 'balanced', 'relaxed'] as const)
        expect(wait('Is that correct?', 'Correct.', { responseWaitMs, eagerness })).toBeLessThanOrEqual(
          responseWaitMs,
        );
  });

  it.each([
    ['eager', 450],
    ['balanced', 450],
    ['relaxed', 480],
  ] as const)('eagerness %s: an option is answered after %i ms', (eagerness, ms) => {
    const changes = { eagerness, responseWaitMs: 900 };
    expect(wait('Is that for pickup or delivery?', 'Delivery.', changes)).toBe(ms);
  });

  it.each(['eager', 'balanced', 'relaxed'] as const)(
    'eagerness %s: a number of a possible length waits response_wait_ms, as others may be longer',
    (eagerness) => {
      const expects = { kind: 'digits', lengths: [4, 5, 6] } as const;
      const config = { ...asked(OPEN).state.config, ...DEFAULTS, eagerness };
      const isFinished = eagerness !== 'relaxed';
      expect(waitMs(judgeAnswer('1 2 3 4 5', expects, 'en'), config, 450)).toBe(isFinished ? 550 : 1_031.25);
    },
  );

  it('eagerness relaxed: a yes without punctuation is unfinished, as any other words are', () => {
    expect(wait('Would you like a window seat?', 'yes', { eagerness: 'relaxed' })).toBe(1_375);
  });

  it('response_max_wait_ms is the wait for an answer that lacks a part', () => {
    expect(wait("What's your phone number?", '555 123', { responseMaxWaitMs: 900 })).toBe(900);
    expect(wait("What's your phone number?", '555 123', { responseWaitMs: 2_000 })).toBe(4_000);
  });

  it('with response_max_wait_ms below response_wait_ms the agent has one wait for everything', () => {
    for (const answer of ['555 123 4567', '555 123'])
      expect(wait("What's your phone number?", answer, { responseMaxWaitMs: 0 })).toBe(550);
  });

  const WORDS = [
    ...'yes no please correct but and um delivery five double 555 4567'.split(' '),
    ...'1985 March anna at example dot com'.split(' '),
    'Yes.',
    'No,',
    'thanks.',
  ];
  const QUESTIONS = [
    'Is that correct?',
    'Anything else?',
    'Pickup or delivery?',
    'Your phone number?',
    'The last four digits?',
    'Your email address?',
    'Your date of birth?',
    'Your full name?',
  ];

  it('whatever is asked and said: 200 ms to 4 s, sooner after a whole answer and never after others', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...QUESTIONS),
        fc.array(fc.constantFrom(...WORDS), { maxLength: 12 }),
        fc.record({
          responseWaitMs: fc.integer({ min: 300, max: 2_000 }),
          responseMaxWaitMs: fc.option(fc.integer({ min: 0, max: 4_000 })),
          eagerness: fc.constantFrom('eager' as const, 'balanced' as const, 'relaxed' as const),
        }),
        fc.integer({ min: 250, max: 2_000 }),
        (question, said, settings, pauseMs) => {
          const config = { ...asked(question).state.config, ...settings };
          const text = said.join(' ');
          const known = judgeAnswer(text, expectationOf(question, 'en'), 'en');
          const unknown = judgeAnswer(text, null, 'en');
          const withIt = waitMs(known, config, pauseMs);
          const without = waitMs(unknown, config, pauseMs);
          expect(withIt).toBeGreaterThanOrEqual(200);
          expect(withIt).toBeLessThanOrEqual(4_000);
          if (known.rule === 'as_expected') expect(withIt).toBeLessThanOrEqual(without);
          else expect(withIt).toBeGreaterThanOrEqual(without);
          if (['comma', 'hesitation', 'hanging_word', 'half_email'].includes(unknown.rule))
            expect(known.rule).not.toBe('as_expected');
        },
      ),
      { seed: 17, numRuns: 2_000 },
    );
  });

  it('a caller who makes long pauses gets more time', () => {
    const script = TurnScript.listening(DEFAULTS);
    for (const text of ['my name and', 'my street and', 'my address.']) {
      script.voice(600).take({ type: 'transcript.final', text });
      script.after(text === 'my address.' ? 1_000 : 1_200);
    }
    const heard = 'Is that correct?';
    script.answer(heard).take({ type: 'playout.finished', replyId: 'r1', heard }).voice(300);
    const endMs = script.nowMs;
    script.take({ type: 'transcript.final', text: 'Correct.' }).after(2_000);
    expect(Math.round((script.last('generate')?.atMs ?? 0) - endMs)).toBe(305);
  });
});

describe('what a reply expects', () => {
  it.each([
    ['en', 'Would you like to book?', 'yes_no'],
    ['en', 'Your number is 555 1234, is that right?', 'yes_no'],
    ['en', 'Please say yes or no.', 'yes_no'],
    ['en', 'Shall I book it? The price is twenty dollars.', 'yes_no'],
    ['en', 'Do you want to sit inside or outside?', 'choice'],
    ['en', 'Small, medium or large?', 'choice'],
    ['en', 'Cash or card?', 'choice'],
    ['en', 'Could I have your phone number, please?', 'phone'],
    ['en', 'May I have an email address?', 'email'],
    ['en', 'Would you spell that for me?', 'spelling'],
    ['en', 'Your phone number and a good time to call?', undefined],
    ['en', 'Your first and last name?', 'full_name'],
    ['en', 'Could you give me two phone numbers?', undefined],
    ['en', 'Is that correct? Please also tell me your phone number.', undefined],
    ['en', 'Please give me your zip code. And what is your email?', undefined],
    ['en', 'Did you get our email?', undefined],
    ['en', 'Is that your phone number?', undefined],
    ['nl', 'Weet u of het morgen kan?', undefined],
    ['nl', 'Binnen of buiten?', 'choice'],
    ['en', 'Red, orange, yellow, green, blue, violet or black?', undefined],
    ['de', 'Ihre Telefonnummer und E-Mail-Adresse?', undefined],
    ['es', '¿Su teléfono y su correo?', undefined],
    ['en', 'What time would you like to come?', undefined],
    ['en', 'Would you like to book, or do you have a question about a booking?', undefined],
    ['en', 'I will send it to your phone number.', undefined],
    ['de', 'Soll ich den Tisch reservieren?', 'yes_no'],
    ['de', 'Wie ist Ihre Telefonnummer?', 'phone'],
    ['de', 'Wie lautet Ihre Postleitzahl?', undefined],
    ['de', 'Nennen Sie bitte die letzten vier Ziffern.', 'digits'],
    ['fr', 'Voulez-vous que je réserve la table ?', 'yes_no'],
    ['fr', 'Quels sont les quatre derniers chiffres ?', 'digits'],
    ['es', '¿Quiere que reserve la mesa?', 'yes_no'],
    ['es', '¿Cuál es su número de teléfono?', 'phone'],
    ['it', 'Vuole che prenoti il tavolo?', 'yes_no'],
    ['it', 'Mattina o pomeriggio?', 'choice'],
    ['it', 'Qual è il suo numero di telefono?', 'phone'],
    ['pt', 'Quer que eu reserve a mesa?', 'yes_no'],
    ['nl', 'Zal ik de tafel reserveren?', 'yes_no'],
    ['nl', 'Wat is uw telefoonnummer?', 'phone'],
    ['de', 'Wie lautet die Vorwahl Ihrer Telefonnummer?', undefined],
    ['de', 'In welchem Jahr sind Sie geboren?', undefined],
    ['fr', 'En quelle année êtes-vous né ?', undefined],
    ['es', '¿En qué año nació?', undefined],
    ['it', 'In che anno è nato?', undefined],
    ['nl', 'In welk jaar bent u geboren?', undefined],
    ['pt', 'Em que ano nasceu?', undefined],
    ['ja', '予約してもよろしいですか？', undefined],
  ])('in %s: %s → %s', (language, reply, kind) => {
    expect(expectationOf(reply, language)?.kind).toBe(kind);
  });

  it.each([
    ['de', 'Soll ich ihn reservieren?', 'Ja, bitte.', undefined],
    ['de', 'Ist das richtig?', 'Ja, genau.', 'expected yes or no, has it'],
    ['de', 'Passt es etwas später?', 'Nein.', undefined],
    [
      'de',
      'Passt es vormittags oder am Nachmittag?',
      'Am Nachmittag.',
      'expected one of the options, has it',
    ],
    ['de', 'Passt es vormittags oder am Nachmittag?', 'Lieber am', undefined],
    ['de', 'Kann ich sonst noch etwas tun?', 'Nein, danke.', 'expected yes or no, has it'],
    ['fr', 'Quel est votre numéro de téléphone ?', '06 12 34 56 78', 'expected 9 to 10 digits, has 10'],
    ['fr', 'Puis-je confirmer la réservation ?', "Oui, c'est ça.", 'expected yes or no, has it'],
    ['es', '¿Cuál es su número de teléfono?', 'seis uno dos tres', 'expected 8 to 10 digits, has 4'],
    ['es', '¿Es correcto?', 'Sí, correcto.', 'expected yes or no, has it'],
    ['es', '¿Quiere venir más tarde?', 'No.', undefined],
    ['it', 'Mattina o pomeriggio?', 'Pomeriggio, grazie.', 'expected one of the options, has it'],
    ['pt', 'Está certo?', 'Sim, está certo.', 'expected yes or no, has it'],
    ['pt', 'Prefere mais cedo?', 'Não.', undefined],
    ['it', 'Va bene un altro giorno?', 'No.', undefined],
    ['nl', 'Is dat juist?', 'Ja, dat klopt.', 'expected yes or no, has it'],
    ['nl', 'Past iets later?', 'Nee.', undefined],
    ['nl', 'Binnen of buiten?', 'Buiten.', 'expected one of the options, has it'],
    ['en', 'Your phone number?', '07911 123', 'expected 9 to 11 digits, has 8'],
    ['en', 'The last four digits?', 'one two double', 'expected 4 digits, has 2'],
    ['es', '¿Su número de teléfono?', '612345678', 'expected 8 to 10 digits, has 9'],
    ['fr', 'Votre numéro de téléphone ?', 'zéro six douze trente-quatre', 'expected 9 to 10 digits, has 6'],
    ['fr', 'Votre date de naissance ?', 'le cinq mars', 'expected a date of birth, has no year'],
    ['fr', 'Votre date de naissance ?', 'cinq mars mille neuf cent deux', 'expected a date of birth, has it'],
    ['de', 'Ihr Geburtsdatum?', 'fünfter März neunzehnhundertfünf', 'expected a date of birth, has it'],
    [
      'de',
      'Buchstabieren Sie bitte den Namen.',
      'Vogel, V wie Viktor, O G',
      'expected a spelled name, has 3 of 5 letters',
    ],
    ['it', 'Il suo indirizzo email?', 'luca chiocciola', 'expected an e-mail address, has no domain'],
    ['de', 'Ihre Handynummer?', '0171 234 5678', 'expected 11 digits, has 11'],
    ['nl', 'Uw geboortedatum?', 'vijf maart negentien vijfentachtig', 'expected a date of birth, has it'],
    ['it', 'La sua data di nascita?', 'cinque marzo duemilacinque', 'expected a date of birth, has it'],
    ['pt', 'A sua data de nascimento?', 'um de maio de dois mil e dois', 'expected a date of birth, has it'],
    ['es', '¿Su fecha de nacimiento?', 'el cinco de marzo', 'expected a date of birth, has no year'],
    ['es', '¿Su número de teléfono?', '34 612 34 56 7', 'expected 8 to 11 digits, has 10'],
    ['es', '¿Su número de teléfono?', '6641234567, por favor', 'expected 8 to 10 digits, has 10'],
    ['es', '¿Le reservo la mesa?', 'No, por favor.', undefined],
    ['es', '¿Cuál es su correo?', 'ana arroba ejemplo punto com', undefined],
    ['pt', 'Qual é o seu e-mail?', 'ana arroba exemplo ponto com', undefined],
    ['fr', 'Quel est votre e-mail ?', 'anne arobase exemple point com', 'expected an e-mail address, has it'],
    ['de', 'Soll ich ihn reservieren?', 'Nein, bitte.', undefined],
  ])('in %s: %s — %s: %s', (language, reply, answer, note) => {
    const expects = expectationOf(reply, language);
    expect((expects && fitOf(answer, expects, language))?.note).toBe(note);
  });
});

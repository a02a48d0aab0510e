/** Romanian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const ro = {
  phrases: {
    hold: 'Un moment, vă rog.',
    transferring: 'Vă fac legătura acum.',
    toolFiller: 'Verific imediat.',
    trouble: 'Îmi pare rău, a apărut o problemă. Puteți repeta?',
    apology: 'Îmi pare rău, avem dificultăți tehnice. Vă rugăm să sunați mai târziu. La revedere.',
    goodbye: 'La revedere.',
    timeIsUp: 'Timpul nostru s-a încheiat. Vă mulțumesc, la revedere.',
    stillThere: 'Mai sunteți pe fir?',
    cannotHear:
      'Îmi pare rău, nu pot înțelege vocea pe această linie. Folosiți tastatura sau scrieți mesajul.',
    back: 'Îmi pare rău, s-a întrerupt o clipă.',
  },
  acknowledgements: 'da|aha|îhî|ok|okay|bine|sigur|desigur|exact|corect|înțeleg|am înțeles|așa|mhm|hm|ă|păi',
  symbols: {
    at: 'arond',
    dot: 'punct',
    dash: 'cratimă',
    underscore: 'linie de subliniere',
    slash: 'bară oblică',
    plus: 'plus',
  },
} satisfies LanguageTexts;

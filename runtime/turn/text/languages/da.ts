/** Danish: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const da = {
  phrases: {
    hold: 'Et øjeblik.',
    transferring: 'Jeg stiller dig om nu.',
    toolFiller: 'Jeg undersøger det lige.',
    trouble: 'Beklager, der opstod en fejl. Kan du sige det igen?',
    apology: 'Jeg beklager, vi har tekniske problemer. Ring venligst igen senere. Farvel.',
    goodbye: 'Farvel.',
    timeIsUp: 'Vores tid er gået. Tak, farvel.',
    stillThere: 'Er du der stadig?',
    cannotHear:
      'Jeg beklager, jeg kan ikke forstå tale på denne linje. Brug tasterne, eller skriv din besked.',
    back: 'Beklager, jeg mistede dig et øjeblik.',
  },
  acknowledgements:
    'ja|jo|jep|okay|ok|okey|godt|fint|klart|præcis|netop|det er rigtigt|jeg forstår|mhm|mm|hm|hmm|aha|nå|' +
    'øh|øhm',
  symbols: {
    at: 'snabel-a',
    dot: 'punktum',
    dash: 'bindestreg',
    underscore: 'underscore',
    slash: 'skråstreg',
    plus: 'plus',
  },
} satisfies LanguageTexts;

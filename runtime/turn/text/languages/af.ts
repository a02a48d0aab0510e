/** Afrikaans: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const af = {
  phrases: {
    hold: "Net 'n oomblik, asseblief.",
    transferring: 'Ek skakel u nou deur.',
    toolFiller: 'Ek kyk gou vir u.',
    trouble: 'Jammer, iets het verkeerd geloop. Kan u dit herhaal?',
    apology: 'Ek is jammer, ons het tegniese probleme. Bel asseblief later weer. Totsiens.',
    goodbye: 'Totsiens.',
    timeIsUp: 'Ons tyd is verstreke. Dankie, totsiens.',
    stillThere: 'Is u nog daar?',
    cannotHear:
      'Ek is jammer, ek kan nie spraak op hierdie lyn verstaan nie. Gebruik asseblief die sleutels of tik ' +
      'u boodskap.',
    back: "Jammer, ek het u vir 'n oomblik verloor.",
  },
  acknowledgements:
    'ja|jip|ok|oukei|okay|goed|reg|presies|natuurlik|ek verstaan|ek sien|mhm|mm|hm|hmm|aha|ag|uh',
  symbols: {
    at: 'at',
    dot: 'punt',
    dash: 'koppelteken',
    underscore: 'onderstreep',
    slash: 'skuinsstreep',
    plus: 'plus',
  },
} satisfies LanguageTexts;

/** Slovak: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const sk = {
  phrases: {
    hold: 'Moment, prosím.',
    transferring: 'Teraz vás prepojím.',
    toolFiller: 'Hneď to overím.',
    trouble: 'Prepáčte, niečo sa nepodarilo. Môžete to zopakovať?',
    apology: 'Ospravedlňujem sa, máme technické ťažkosti. Zavolajte prosím neskôr. Dovidenia.',
    goodbye: 'Dovidenia.',
    timeIsUp: 'Náš čas uplynul. Ďakujem, dovidenia.',
    stillThere: 'Ste tam ešte?',
    cannotHear:
      'Ospravedlňujem sa, na tejto linke nerozumiem reči. Použite prosím klávesy alebo napíšte správu.',
    back: 'Prepáčte, na chvíľu ste mi vypadli.',
  },
  acknowledgements: 'áno|hej|no|dobre|ok|okej|fajn|jasné|presne|rozumiem|chápem|aha|mhm|hm|hmm|ehm',
  symbols: {
    at: 'zavináč',
    dot: 'bodka',
    dash: 'pomlčka',
    underscore: 'podčiarkovník',
    slash: 'lomka',
    plus: 'plus',
  },
} satisfies LanguageTexts;

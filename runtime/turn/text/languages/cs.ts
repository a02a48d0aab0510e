/** Czech: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const cs = {
  phrases: {
    hold: 'Moment, prosím.',
    transferring: 'Teď vás přepojím.',
    toolFiller: 'Hned to ověřím.',
    trouble: 'Promiňte, něco se nepovedlo. Můžete to zopakovat?',
    apology: 'Omlouvám se, máme technické potíže. Zavolejte prosím později. Na shledanou.',
    goodbye: 'Na shledanou.',
    timeIsUp: 'Náš čas vypršel. Děkuji, na shledanou.',
    stillThere: 'Jste tam ještě?',
    cannotHear: 'Omlouvám se, na této lince nerozumím řeči. Použijte prosím klávesy nebo napište zprávu.',
    back: 'Promiňte, na chvilku jste mi vypadli.',
  },
  acknowledgements:
    'ano|jo|no|no jo|dobře|ok|okej|fajn|jasně|jasné|přesně|rozumím|chápu|aha|mhm|hm|hmm|ehm|aha aha',
  symbols: {
    at: 'zavináč',
    dot: 'tečka',
    dash: 'pomlčka',
    underscore: 'podtržítko',
    slash: 'lomítko',
    plus: 'plus',
  },
} satisfies LanguageTexts;

/** Serbian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const sr = {
  phrases: {
    hold: 'Samo trenutak, molim vas.',
    transferring: 'Sada ću vas povezati.',
    toolFiller: 'Odmah proveravam.',
    trouble: 'Izvinite, došlo je do greške. Možete li da ponovite?',
    apology: 'Žao mi je, imamo tehničkih problema. Molim vas, pozovite kasnije. Doviđenja.',
    goodbye: 'Doviđenja.',
    timeIsUp: 'Naše vreme je isteklo. Hvala, doviđenja.',
    stillThere: 'Da li ste još tu?',
    cannotHear: 'Žao mi je, ne mogu da razumem govor na ovoj liniji. Koristite tastere ili napišite poruku.',
    back: 'Izvinite, veza se na trenutak prekinula.',
  },
  acknowledgements:
    'da|aha|ok|okej|dobro|važi|u redu|jasno|razumem|tačno|tako je|naravno|mhm|hm|pa|da da|да|аха|ок|океј|' +
    'добро|важи|у реду|јасно|разумем|тачно|тако је|мхм|хм',
  symbols: {
    at: 'et',
    dot: 'tačka',
    dash: 'crtica',
    underscore: 'donja crta',
    slash: 'kosa crta',
    plus: 'plus',
  },
} satisfies LanguageTexts;

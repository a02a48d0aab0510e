/** Croatian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const hr = {
  phrases: {
    hold: 'Samo trenutak, molim.',
    transferring: 'Sada ću vas spojiti.',
    toolFiller: 'Odmah provjeravam.',
    trouble: 'Oprostite, došlo je do pogreške. Možete li ponoviti?',
    apology: 'Žao mi je, imamo tehničkih poteškoća. Molimo nazovite kasnije. Doviđenja.',
    goodbye: 'Doviđenja.',
    timeIsUp: 'Naše je vrijeme isteklo. Hvala, doviđenja.',
    stillThere: 'Jeste li još tu?',
    cannotHear: 'Žao mi je, ne mogu razumjeti govor na ovoj liniji. Koristite tipke ili napišite poruku.',
    back: 'Oprostite, veza se na trenutak prekinula.',
  },
  acknowledgements: 'da|aha|ok|okej|dobro|može|u redu|jasno|razumijem|točno|tako je|naravno|mhm|hm|pa',
  symbols: {
    at: 'et',
    dot: 'točka',
    dash: 'crtica',
    underscore: 'donja crta',
    slash: 'kosa crta',
    plus: 'plus',
  },
} satisfies LanguageTexts;

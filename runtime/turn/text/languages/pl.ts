/** Polish: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const pl = {
  phrases: {
    hold: 'Chwileczkę, proszę.',
    transferring: 'Już łączę.',
    toolFiller: 'Już sprawdzam.',
    trouble: 'Przepraszam, wystąpił problem. Czy można prosić o powtórzenie?',
    apology: 'Przepraszam, mamy problemy techniczne. Proszę zadzwonić później. Do widzenia.',
    goodbye: 'Do widzenia.',
    timeIsUp: 'Nasz czas się skończył. Dziękuję, do widzenia.',
    stillThere: 'Czy jest pan lub pani nadal na linii?',
    cannotHear: 'Przepraszam, na tej linii nie rozumiem mowy. Proszę użyć klawiszy lub napisać wiadomość.',
    back: 'Przepraszam, na chwilę coś przerwało.',
  },
  acknowledgements:
    'tak|no|no tak|dobrze|dobra|ok|okej|jasne|rozumiem|zgadza się|dokładnie|oczywiście|aha|mhm|hm|yhm|' +
    'eee|yyy',
  symbols: {
    at: 'małpa',
    dot: 'kropka',
    dash: 'myślnik',
    underscore: 'podkreślenie',
    slash: 'ukośnik',
    plus: 'plus',
  },
} satisfies LanguageTexts;

/** Finnish: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const fi = {
  phrases: {
    hold: 'Hetkinen, olkaa hyvä.',
    transferring: 'Yhdistän teidät nyt.',
    toolFiller: 'Tarkistan asian.',
    trouble: 'Anteeksi, tapahtui virhe. Voisitteko toistaa?',
    apology: 'Pahoittelen, meillä on teknisiä ongelmia. Soittakaa myöhemmin uudelleen. Kuulemiin.',
    goodbye: 'Kuulemiin.',
    timeIsUp: 'Aikamme on täynnä. Kiitos, kuulemiin.',
    stillThere: 'Oletteko vielä linjalla?',
    cannotHear:
      'Pahoittelen, en ymmärrä puhetta tällä linjalla. Käyttäkää näppäimiä tai kirjoittakaa viestinne.',
    back: 'Anteeksi, yhteys katkesi hetkeksi.',
  },
  acknowledgements:
    'joo|juu|kyllä|niin|niinpä|aivan|selvä|okei|ok|hyvä|totta|ymmärrän|ahaa|aha|mm|hmm|mhm|öö|tota',
  symbols: {
    at: 'ät',
    dot: 'piste',
    dash: 'viiva',
    underscore: 'alaviiva',
    slash: 'kauttaviiva',
    plus: 'plus',
  },
} satisfies LanguageTexts;

/** Tagalog: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const tl = {
  phrases: {
    hold: 'Sandali lang po.',
    transferring: 'Ikokonekta ko na po kayo.',
    toolFiller: 'Titingnan ko po muna.',
    trouble: 'Pasensya na po, nagkaproblema. Maaari po bang ulitin ninyo?',
    apology: 'Paumanhin po, may problemang teknikal kami. Pakitawagan po kami muli mamaya. Paalam po.',
    goodbye: 'Paalam po.',
    timeIsUp: 'Tapos na po ang ating oras. Salamat po, paalam.',
    stillThere: 'Nandiyan pa po ba kayo?',
    cannotHear:
      'Paumanhin po, hindi ko maintindihan ang pagsasalita sa linyang ito. Gamitin po ang keypad o i-type ' +
      'ang inyong mensahe.',
    back: 'Pasensya na po, naputol sandali.',
  },
  acknowledgements:
    'oo|opo|oho|sige|sige po|ok|okay|tama|ayos|gets|naiintindihan ko|ah|ah okay|hmm|mm|ganun ba|ano|kasi',
  symbols: {
    at: 'at',
    dot: 'tuldok',
    dash: 'gitling',
    underscore: 'underscore',
    slash: 'slash',
    plus: 'plus',
  },
} satisfies LanguageTexts;

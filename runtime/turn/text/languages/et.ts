/** Estonian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const et = {
  phrases: {
    hold: 'Üks hetk, palun.',
    transferring: 'Ühendan teid kohe.',
    toolFiller: 'Vaatan kohe järele.',
    trouble: 'Vabandust, tekkis viga. Kas saaksite korrata?',
    apology: 'Vabandust, meil on tehnilisi probleeme. Palun helistage hiljem uuesti. Head aega.',
    goodbye: 'Head aega.',
    timeIsUp: 'Meie aeg on läbi. Aitäh, head aega.',
    stillThere: 'Kas olete veel liinil?',
    cannotHear:
      'Vabandust, ma ei saa sellel liinil kõnest aru. Palun kasutage klahve või kirjutage oma sõnum.',
    back: 'Vabandust, ühendus katkes hetkeks.',
  },
  acknowledgements:
    'jah|jaa|ja|okei|ok|hästi|hea|selge|õige|just|täpselt|saan aru|ahah|ahaa|mhm|mm|hm|ee|noh',
  symbols: {
    at: 'ätt',
    dot: 'punkt',
    dash: 'sidekriips',
    underscore: 'alakriips',
    slash: 'kaldkriips',
    plus: 'pluss',
  },
} satisfies LanguageTexts;

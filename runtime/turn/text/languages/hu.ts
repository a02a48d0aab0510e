/** Hungarian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const hu = {
  phrases: {
    hold: 'Egy pillanat, kérem.',
    transferring: 'Máris kapcsolom.',
    toolFiller: 'Máris megnézem.',
    trouble: 'Elnézést, hiba történt. Megismételné, kérem?',
    apology: 'Elnézést, műszaki nehézségeink vannak. Kérem, hívjon később. Viszonthallásra.',
    goodbye: 'Viszonthallásra.',
    timeIsUp: 'Lejárt az időnk. Köszönöm, viszonthallásra.',
    stillThere: 'Itt van még?',
    cannotHear:
      'Elnézést, ezen a vonalon nem értem a beszédet. Kérem, használja a billentyűket, vagy írja le az ' +
      'üzenetét.',
    back: 'Elnézést, egy pillanatra megszakadt a vonal.',
  },
  acknowledgements: 'igen|ja|aha|ühüm|oké|ok|jó|rendben|persze|értem|pontosan|így van|hm|hmm|öö|ööö|hát',
  symbols: {
    at: 'kukac',
    dot: 'pont',
    dash: 'kötőjel',
    underscore: 'alulvonás',
    slash: 'perjel',
    plus: 'plusz',
  },
} satisfies LanguageTexts;

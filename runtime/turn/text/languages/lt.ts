/** Lithuanian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const lt = {
  phrases: {
    hold: 'Vieną akimirką, prašau.',
    transferring: 'Tuoj jus sujungsiu.',
    toolFiller: 'Tuoj patikrinsiu.',
    trouble: 'Atsiprašau, įvyko klaida. Ar galite pakartoti?',
    apology: 'Atsiprašome, turime techninių nesklandumų. Prašome paskambinti vėliau. Viso gero.',
    goodbye: 'Viso gero.',
    timeIsUp: 'Mūsų laikas baigėsi. Ačiū, viso gero.',
    stillThere: 'Ar jūs dar klausote?',
    cannotHear:
      'Atsiprašau, šioje linijoje negaliu suprasti kalbos. Naudokite klavišus arba parašykite žinutę.',
    back: 'Atsiprašau, ryšys akimirkai nutrūko.',
  },
  acknowledgements:
    'taip|jo|aha|gerai|ok|okei|aišku|suprantu|supratau|teisingai|būtent|žinoma|mhm|mm|hm|ė|na',
  symbols: {
    at: 'eta',
    dot: 'taškas',
    dash: 'brūkšnelis',
    underscore: 'apatinis brūkšnys',
    slash: 'pasvirasis brūkšnys',
    plus: 'plius',
  },
} satisfies LanguageTexts;

/** Norwegian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const no = {
  phrases: {
    hold: 'Et øyeblikk.',
    transferring: 'Jeg setter deg over nå.',
    toolFiller: 'Jeg skal sjekke det.',
    trouble: 'Beklager, noe gikk galt. Kan du si det igjen?',
    apology: 'Beklager, vi har tekniske problemer. Ring gjerne igjen senere. Ha det bra.',
    goodbye: 'Ha det bra.',
    timeIsUp: 'Tiden vår er ute. Takk, ha det bra.',
    stillThere: 'Er du der fortsatt?',
    cannotHear:
      'Beklager, jeg kan ikke oppfatte tale på denne linjen. Bruk tastene eller skriv meldingen din.',
    back: 'Beklager, jeg mistet deg et øyeblikk.',
  },
  acknowledgements:
    'ja|jo|jepp|ok|okei|okay|greit|bra|fint|klart|nettopp|akkurat|skjønner|jeg skjønner|mhm|mm|hm|hmm|aha|' +
    'eh|øh',
  symbols: {
    at: 'krøllalfa',
    dot: 'punktum',
    dash: 'bindestrek',
    underscore: 'understrek',
    slash: 'skråstrek',
    plus: 'pluss',
  },
} satisfies LanguageTexts;

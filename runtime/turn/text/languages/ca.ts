/** Catalan: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const ca = {
  phrases: {
    hold: 'Un moment, si us plau.',
    transferring: 'Ara mateix li passo.',
    toolFiller: "Deixi'm comprovar-ho.",
    trouble: 'Perdoni, he tingut un problema. Ho pot repetir?',
    apology: 'Ho sento, tenim dificultats tècniques. Si us plau, truqui més tard. Adeu.',
    goodbye: 'Adeu.',
    timeIsUp: "Se'ns ha acabat el temps. Gràcies, adeu.",
    stillThere: 'Encara hi és?',
    cannotHear:
      'Ho sento, no puc entendre la veu en aquesta línia. Faci servir el teclat o escrigui el seu missatge.',
    back: "Perdoni, s'ha tallat un segon.",
  },
  acknowledgements:
    "sí|si|d'acord|ok|okay|val|vale|bé|molt bé|clar|és clar|exacte|entesos|ja|ja veig|aha|ahà|mhm|hmm|eh",
  symbols: {
    at: 'arrova',
    dot: 'punt',
    dash: 'guionet',
    underscore: 'guió baix',
    slash: 'barra',
    plus: 'més',
  },
} satisfies LanguageTexts;

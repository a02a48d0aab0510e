/** Italian: what the agent says by itself, and how callers acknowledge. */
import type { LanguageTexts } from './language-texts.ts';

export const it = {
  phrases: {
    hold: 'Un momento, per favore.',
    transferring: 'La metto in contatto subito.',
    toolFiller: 'Controllo subito.',
    trouble: 'Mi scusi, ho avuto un problema. Può ripetere?',
    apology: 'Mi dispiace, abbiamo difficoltà tecniche. La prego di richiamare più tardi. Arrivederci.',
    goodbye: 'Arrivederci.',
    timeIsUp: 'Il tempo a disposizione è finito. Grazie, arrivederci.',
    stillThere: 'È ancora in linea?',
    cannotHear: 'Mi dispiace, su questa linea non riesco a capire la voce. Usi la tastiera o scriva il suo messaggio.',
    back: 'Mi scusi, la linea è caduta per un attimo.',
  },
  acknowledgements: "sì|si|ok|okay|va bene|bene|certo|esatto|giusto|ho capito|capito|capisco|già|mhm|hmm|ah|ah ok|eh|ehm|d'accordo",
  symbols: { at: 'chiocciola', dot: 'punto', dash: 'trattino', underscore: 'trattino basso', slash: 'barra', plus: 'più' },
  abbreviations: 'Sig.=Signor|Sig.ra=Signora|Dott.=Dottor|Dott.ssa=Dottoressa|Ing.=Ingegner|ecc.=eccetera|es.=esempio|tel.=telefono|ca.=circa|&=e',
} satisfies LanguageTexts;

/** Italian: the agent's fixed lines, and the words that show a caller is listening. */
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
    cannotHear:
      'Mi dispiace, su questa linea non riesco a capire la voce. Usi la tastiera o scriva il suo messaggio.',
    back: 'Mi scusi, la linea è caduta per un attimo.',
  },
  acknowledgements:
    'sì|si|ok|okay|va bene|bene|certo|esatto|giusto|ho capito|capito|capisco|già|mhm|hmm|ah|ah ok|eh|ehm|' +
    "d'accordo",
  symbols: {
    at: 'chiocciola',
    dot: 'punto',
    dash: 'trattino',
    underscore: 'trattino basso',
    slash: 'barra',
    plus: 'più',
  },
  abbreviations:
    'Sig.=Signor|Sig.ra=Signora|Dott.=Dottor|Dott.ssa=Dottoressa|Ing.=Ingegner|ecc.=eccetera|es.=esempio|' +
    'tel.=telefono|ca.=circa|&=e',
  consult: {
    introduction: 'Buongiorno, sono {agent}. Ho una chiamata per lei, dal numero {number}.',
    introductionWithoutNumber: 'Buongiorno, sono {agent}. Ho una chiamata per lei.',
    question: 'Posso passarle la chiamata? Dica sì o no.',
    declined: 'Va bene. Grazie, arrivederci.',
    callerGone: 'Mi dispiace, la persona ha riattaccato. Arrivederci.',
    yes: "sì|si|certo|va bene|volentieri|d'accordo|prego|me lo passi|me la passi|okay|ok",
    no: 'no|non|più tardi|dopo|mai|occupato|occupata',
    voicemail:
      'lasciate un messaggio|lasci un messaggio|dopo il segnale|dopo il bip|segreteria telefonica|segreteria',
  },
} satisfies LanguageTexts;

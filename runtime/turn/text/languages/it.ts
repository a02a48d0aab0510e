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
    'sì|si|ok|okay|va bene|va benissimo|mi va bene|per me va bene|bene|certo|certo che sì|sicuro|' +
    'sicuramente|esatto|esattamente|giusto|infatti|appunto|assolutamente|ovviamente|naturalmente|' +
    'ho capito|capito|capisco|comprendo|inteso|ricevuto|già|mhm|hmm|ah|ah ok|ecco|eh|eh sì|eh già|ehm|' +
    "d'accordo|perfetto|perfettamente|benissimo|ottimo|molto bene|oh|wow|bello|che bello|davvero|vero|" +
    'interessante|chiaro|chiarissimo|tutto chiaro|certamente|volentieri|come no|nessun problema|' +
    'senza problemi|tutto bene|tutto a posto|bravo|brava|fantastico|meraviglioso|magnifico|splendido|' +
    'stupendo|grande|ci sono|ha senso|buono a sapersi|buona idea|ottima idea',
  listening: {
    openings: 'è|sarebbe|mi sembra|sembra|mi pare|suona|che',
    degrees: 'molto|davvero|proprio|tanto|così|tutto|veramente',
    qualities:
      'bene|buono|bello|bellissimo|perfetto|ottimo|chiaro|giusto|vero|esatto|corretto|interessante|' +
      'fantastico|meraviglioso|splendido|stupendo|gentile|comodo|utile|logico|una buona idea|' +
      "un'ottima idea|una bella notizia",
    courtesies: 'grazie|grazie mille|mille grazie|tante grazie|molte grazie|la ringrazio|signore|signora',
  },
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
  questions: {
    yes: "sì|si|certo|va bene|ok|okay|d'accordo|volentieri|certamente",
    surely: 'esatto|esattamente|corretto|giusto|è corretto|è giusto|perfetto',
    no: 'no',
    closing: "è tutto|questo è tutto|nient'altro|basta così|a posto così",
    courtesy: 'per favore|grazie|grazie mille|prego|signore|signora',
    open:
      "chi|cosa|che cosa|che giorno|che ora|a che|di che|in che|quale|quali|quando|dove|dov'è|perché|" +
      "qual|cos'è|com'è|come|quanto|quanta|quanti|quante|" +
      'mi dica|mi dice|dirmi|spiegare|spiegarmi|descrivere|ripetere|darmi|mi dà|può darmi|mi legge|' +
      'leggermi|mi comunica|indicarmi',
    offers: "qualcos'altro|c'è altro|serve altro|desidera altro|fare altro|altre domande",
    or: 'o|oppure',
    requests: 'per favore|mi dica|mi dia|ho bisogno',
    phone: 'numero di telefono|numero di cellulare|recapito telefonico|a che numero|a quale numero',
    phoneLengths: '3=9,10|39=9,12',
    numbers: '',
    digits: 'cifre',
    email: 'e-mail|email|mail|indirizzo email|indirizzo e-mail|posta elettronica',
    postal: {
      names:
        "suo indirizzo|tuo indirizzo|l'indirizzo|indirizzo completo|indirizzo postale|" +
        'indirizzo di casa|indirizzo di consegna|indirizzo di spedizione|indirizzo di residenza|' +
        'indirizzo di fatturazione',
      streets: 'via|viale|piazza|piazzale|corso|largo|vicolo|strada|lungomare',
      beforeTown: [5],
      atEnd: [],
      townBegins: 'san|santa|la|reggio|castel',
    },
    spelling: 'sillabare|scandire|spelling|lettera per lettera|si scrive',
    fullName: 'nome completo|nome e cognome|nome e il cognome',
    birth: 'data di nascita|nato|nata',
    several: 'numeri di telefono|numeri|indirizzi|codici|nomi|entrambi',
    joins: 'e|ed',
    about:
      'quale paese|che paese|quale città|che città|dove|luogo di nascita|' +
      'prefisso internazionale|quale prefisso|qual è il prefisso|il resto|prima parte|seconda parte|' +
      'ultima parte|continui|che anno|quale anno|che mese|quale mese|che giorno|quale giorno|che ora|' +
      'da quando|perché|quanto|quanti|quante|chi|un momento|un attimo|attenda|mentre',
    announces: 'numero|codice|indirizzo|email|e-mail|mail|data|conto|nome|prenotazione|ordine',
    otherwise:
      'scusi|scusa|come|cosa|perché|chi|pronto|ripeta|ripeti|non|niente|nessuno|nessuna|mai|senza|' +
      'aspetti|aspetta',
    leads: 'e|il|la|lo|i|gli|le|suo|sua|un|una|ultime|prime',
    begins: 'è|è il|sì|certo|il',
    asIn: 'di|come',
  },
  pressing: {
    always: 'ho premuto|sto premendo|premo|sto per premere|ho appena premuto|ho schiacciato|schiaccio',
    withKey:
      'ho digitato|digito|sto digitando|compongo|ho composto|ho selezionato|seleziono|' +
      'ho inserito|inserisco',
    keys: 'asterisco|cancelletto|tasto|tasti|interno',
    denials: 'non|mai',
  },
} satisfies LanguageTexts;

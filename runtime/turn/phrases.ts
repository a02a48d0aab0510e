/** What the agent says by itself, without its model: hold lines, apologies, goodbyes. One short entry per language; others get English. */

/** The fixed lines of one language. */
export interface Phrases {
  /** While a model keeps the caller waiting. */
  readonly hold: string;
  /** Before the caller is handed to a person, where the model gave no words of its own. */
  readonly transferring: string;
  /** While a tool runs longer than a moment. */
  readonly toolFiller: string;
  /** A generation failed; the call goes on. */
  readonly trouble: string;
  /** The model failed for good; the call ends. */
  readonly apology: string;
  readonly goodbye: string;
  readonly timeIsUp: string;
  readonly stillThere: string;
  /** Speech cannot be understood on this call. */
  readonly cannotHear: string;
}

const PHRASES: Readonly<Record<string, Phrases>> = {
  en: {
    hold: 'One moment, please.',
    transferring: "I'll connect you now.",
    toolFiller: 'Let me check that for you.',
    trouble: "I'm sorry, I had a problem just now. Could you say that again?",
    apology: "I'm sorry, I'm having technical difficulties. Please call again later. Goodbye.",
    goodbye: 'Goodbye.',
    timeIsUp: 'Our time is up. Thank you, goodbye.',
    stillThere: 'Are you still there?',
    cannotHear: "I'm sorry, I can't understand speech on this line. Please use your keypad or type your message.",
  },
  de: {
    hold: 'Einen Moment bitte.',
    transferring: 'Ich verbinde Sie jetzt.',
    toolFiller: 'Ich sehe kurz nach.',
    trouble: 'Entschuldigung, da ist etwas schiefgegangen. Können Sie das bitte wiederholen?',
    apology: 'Es tut mir leid, es gibt technische Schwierigkeiten. Bitte rufen Sie später wieder an. Auf Wiederhören.',
    goodbye: 'Auf Wiederhören.',
    timeIsUp: 'Unsere Zeit ist um. Vielen Dank, auf Wiederhören.',
    stillThere: 'Sind Sie noch da?',
    cannotHear: 'Es tut mir leid, ich kann auf dieser Leitung keine Sprache verstehen. Bitte nutzen Sie die Tasten oder schreiben Sie mir.',
  },
  fr: {
    hold: 'Un instant, je vous prie.',
    transferring: 'Je vous mets en relation.',
    toolFiller: 'Je vérifie cela pour vous.',
    trouble: "Pardon, j'ai eu un problème. Pouvez-vous répéter ?",
    apology: 'Je suis désolé, nous avons des difficultés techniques. Veuillez rappeler plus tard. Au revoir.',
    goodbye: 'Au revoir.',
    timeIsUp: 'Le temps est écoulé. Merci, au revoir.',
    stillThere: 'Êtes-vous toujours là ?',
    cannotHear: 'Je suis désolé, je ne comprends pas la parole sur cette ligne. Utilisez votre clavier ou écrivez votre message.',
  },
  es: {
    hold: 'Un momento, por favor.',
    transferring: 'Le paso ahora mismo.',
    toolFiller: 'Déjeme comprobarlo.',
    trouble: 'Perdone, he tenido un problema. ¿Puede repetirlo?',
    apology: 'Lo siento, tenemos dificultades técnicas. Por favor, llame más tarde. Adiós.',
    goodbye: 'Adiós.',
    timeIsUp: 'Se nos ha acabado el tiempo. Gracias, adiós.',
    stillThere: '¿Sigue ahí?',
    cannotHear: 'Lo siento, no puedo entender la voz en esta línea. Use el teclado o escriba su mensaje.',
  },
};

/** The fixed lines for a language code. */
export function phrasesFor(language: string): Phrases {
  return PHRASES[language] ?? (PHRASES['en'] as Phrases);
}

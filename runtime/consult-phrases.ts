/** What is said to a person before a caller is connected, and the words by which they accept or decline. One entry per language; others get English. */

/** The lines and words of one language. */
export interface ConsultPhrases {
  /** Before the notes, unless the destination's own instructions replace it. `{agent}` and `{number}` are filled in. */
  readonly introduction: string;
  /** The same for a caller who withholds the number. */
  readonly introductionWithoutNumber: string;
  readonly question: string;
  readonly declined: string;
  readonly callerGone: string;
  readonly yes: readonly string[];
  readonly no: readonly string[];
  /** What only a machine says. */
  readonly voicemail: readonly string[];
}

const PHRASES: Readonly<Record<string, ConsultPhrases>> = {
  en: {
    introduction: 'Hello, this is {agent}. I have a caller for you on the line, from the number {number}.',
    introductionWithoutNumber: 'Hello, this is {agent}. I have a caller for you on the line.',
    question: 'May I connect you? Please say yes or no.',
    declined: 'All right. Thank you, goodbye.',
    callerGone: 'I am sorry, the caller has hung up. Goodbye.',
    yes: [
      'yes',
      'yeah',
      'yep',
      'sure',
      'okay',
      'ok',
      'please do',
      'go ahead',
      'put them through',
      'put him through',
      'put her through',
      'connect',
      'of course',
    ],
    no: ['no', 'nope', 'not', "don't", "can't", 'cannot', 'busy', 'later', 'never'],
    voicemail: [
      'leave a message',
      'leave your message',
      'after the tone',
      'after the beep',
      'voicemail',
      'voice mail',
      'mailbox',
      'record your message',
    ],
  },
  de: {
    introduction: 'Guten Tag, hier ist {agent}. Ich habe einen Anruf für Sie, von der Nummer {number}.',
    introductionWithoutNumber: 'Guten Tag, hier ist {agent}. Ich habe einen Anruf für Sie.',
    question: 'Darf ich verbinden? Bitte sagen Sie ja oder nein.',
    declined: 'In Ordnung. Vielen Dank, auf Wiederhören.',
    callerGone: 'Leider hat der Anrufer aufgelegt. Auf Wiederhören.',
    yes: ['ja', 'gerne', 'gern', 'okay', 'ok', 'klar', 'natürlich', 'verbinden sie', 'bitte sehr'],
    no: ['nein', 'nicht', 'nee', 'später', 'kein', 'keine'],
    voicemail: ['nach dem ton', 'nach dem signalton', 'mailbox', 'anrufbeantworter', 'hinterlassen sie'],
  },
  fr: {
    introduction: 'Bonjour, ici {agent}. J’ai un appel pour vous, du numéro {number}.',
    introductionWithoutNumber: 'Bonjour, ici {agent}. J’ai un appel pour vous.',
    question: 'Puis-je vous mettre en relation ? Dites oui ou non.',
    declined: 'Très bien. Merci, au revoir.',
    callerGone: 'Je suis désolé, la personne a raccroché. Au revoir.',
    yes: ['oui', "d'accord", 'bien sûr', 'allez-y', 'volontiers', 'okay', 'ok'],
    no: ['non', 'pas', 'plus tard', 'jamais'],
    voicemail: ['laissez un message', 'laisser un message', 'après le bip', 'après le signal', 'messagerie', 'répondeur'],
  },
  es: {
    introduction: 'Hola, soy {agent}. Tengo una llamada para usted, del número {number}.',
    introductionWithoutNumber: 'Hola, soy {agent}. Tengo una llamada para usted.',
    question: '¿Puedo pasarle la llamada? Diga sí o no.',
    declined: 'De acuerdo. Gracias, adiós.',
    callerGone: 'Lo siento, la persona ha colgado. Adiós.',
    yes: ['sí', 'si', 'claro', 'de acuerdo', 'vale', 'adelante', 'por supuesto', 'okay', 'ok'],
    no: ['no', 'ahora no', 'más tarde', 'nunca'],
    voicemail: ['deje un mensaje', 'deje su mensaje', 'después del tono', 'después de la señal', 'buzón de voz', 'contestador'],
  },
};

/** The phrases for a language code. */
export function consultPhrases(language: string): ConsultPhrases {
  return PHRASES[language] ?? (PHRASES['en'] as ConsultPhrases);
}

/** What a person's words say to being connected. A refusal outweighs a yes in the same breath: "yes, but not now". */
export function consultAnswer(text: string, { yes, no, voicemail }: ConsultPhrases): 'yes' | 'no' | 'voicemail' | 'unclear' {
  const words = ` ${text
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[^\p{L}\p{N}'-]+/gu, ' ')
    .trim()} `;
  const says = (phrases: readonly string[]) => phrases.some((phrase) => words.includes(` ${phrase} `));
  if (says(voicemail)) return 'voicemail';
  if (says(no)) return 'no';
  return says(yes) ? 'yes' : 'unclear';
}

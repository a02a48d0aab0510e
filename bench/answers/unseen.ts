/**
 * A third set of questions and answers, which decides nothing: it was written after the rules, and no word,
 * rule or wait was changed by its figures.
 */
import type { Expectation } from '#runtime/turn/text/expectation.ts';
import type { Row } from './catalogue.ts';

/** By language. */
export const UNSEEN: Readonly<Record<string, readonly Row[]>> = {
  en: [
    [
      'number',
      'Sure, what is the best phone number for you?',
      'three one two | five five five | oh one nine eight',
    ],
    [
      'number',
      'Please read out your nine digit member number.',
      'one oh four | two two seven | nine six three',
    ],
    ['email', 'And which email address should we use?', 'tom jones at | gmail dot com'],
    ['spelling', 'How is your last name spelled?', 'Petrov, P E T | R O V'],
    ['date', 'When were you born?', 'the ninth of October | nineteen sixty four'],
    ['yes', 'So that is two adults and one child, correct?', 'that is correct yes'],
    ['option', 'Would you prefer Tuesday or Thursday?', 'Thursday works'],
    [
      'address',
      'Where should we send it? I need your full address.',
      '7 Elm Drive | Boulder Colorado | 80302',
    ],
    ['address', "What's your home address?", 'five Church Lane | Oxford | OX1 2JD'],
    ['hesitation', 'How may I help you today?', 'I am calling about the | invoice you sent me'],
    ['trailing', 'How may I help you today?', 'my washing machine is erm | making a strange noise'],
    ['open', 'How may I help you today?', 'I would like to change my appointment'],
  ],
  de: [
    [
      'number',
      'Geben Sie mir bitte Ihre Mobilnummer.',
      'null eins sechs null | neunzig einundzwanzig | dreiunddreißig vierundvierzig',
    ],
    ['number', 'Wie lautet Ihre sechsstellige Vertragsnummer?', 'sieben eins | null vier | acht acht'],
    ['email', 'Und Ihre Mailadresse?', 'tom punkt meier at | freenet punkt de'],
    ['spelling', 'Würden Sie Ihren Nachnamen bitte buchstabieren?', 'Krause, K R A | U S E'],
    ['date', 'Ihr Geburtsdatum bitte?', 'neunter Oktober | neunzehnhundertvierundsechzig'],
    ['yes', 'Also zwei Erwachsene und ein Kind, richtig?', 'genau richtig'],
    ['option', 'Passt Ihnen Dienstag oder Donnerstag besser?', 'Donnerstag'],
    [
      'address',
      'Wohin dürfen wir liefern? Ich brauche Ihre Anschrift.',
      'Goethestraße 22 | 60313 | Frankfurt',
    ],
    ['address', 'Wie ist Ihre Adresse?', 'Kirchweg neun | zwei acht zwei null neun | Bremen'],
    ['hesitation', 'Guten Tag, was kann ich für Sie tun?', 'ich rufe an wegen der | Rechnung vom März'],
    [
      'trailing',
      'Guten Tag, was kann ich für Sie tun?',
      'meine Waschmaschine macht ähm | komische Geräusche',
    ],
    ['open', 'Guten Tag, was kann ich für Sie tun?', 'ich möchte meinen Termin verschieben'],
  ],
  fr: [
    [
      'number',
      'Pouvez-vous me donner votre numéro de portable ?',
      'zéro sept | quatre-vingt-deux | dix-neuf | zéro trois | cinquante',
    ],
    ['number', 'Quel est votre code à six chiffres ?', 'soixante et onze | zéro quatre | quatre-vingt-huit'],
    ['email', 'Et votre adresse mail ?', 'thomas point petit arobase | orange point fr'],
    ['spelling', 'Pouvez-vous épeler votre nom de famille ?', 'Moreau, M O R | E A U'],
    [
      'date',
      "Votre date de naissance, s'il vous plaît ?",
      'le neuf octobre | mille neuf cent soixante-quatre',
    ],
    ['yes', "Donc deux adultes et un enfant, c'est bien ça ?", "c'est ça"],
    ['option', 'Préférez-vous mardi ou jeudi ?', 'jeudi'],
    ['address', 'Où doit-on livrer ? Donnez-moi votre adresse.', '22 avenue de la Gare | 31000 | Toulouse'],
    [
      'address',
      'Quelle est votre adresse, je vous prie ?',
      'neuf boulevard Voltaire | trois cinq zéro zéro zéro | Rennes',
    ],
    ['hesitation', 'Bonjour, en quoi puis-je vous aider ?', "j'appelle au sujet de la | facture de mars"],
    ['trailing', 'Bonjour, en quoi puis-je vous aider ?', 'ma machine à laver fait euh | un bruit bizarre'],
    ['open', 'Bonjour, en quoi puis-je vous aider ?', 'je voudrais déplacer mon rendez-vous'],
  ],
  es: [
    ['number', '¿Me puede dar su número de móvil?', 'seis dos uno | cuarenta y cinco | setenta | dieciocho'],
    ['number', '¿Cuál es su código de seis dígitos?', 'setenta y uno | cero cuatro | ochenta y ocho'],
    ['email', '¿Y su correo electrónico?', 'tomás punto gil arroba | hotmail punto com'],
    ['spelling', '¿Puede deletrear su apellido?', 'Molina, M O L | I N A'],
    ['date', '¿Su fecha de nacimiento, por favor?', 'nueve de octubre | de mil novecientos sesenta y cuatro'],
    ['yes', 'Entonces dos adultos y un niño, ¿correcto?', 'correcto'],
    ['option', '¿Prefiere el martes o el jueves?', 'el jueves'],
    ['address', '¿Dónde lo entregamos? Dígame su dirección.', 'calle Luna 22 | 29005 | Málaga'],
    [
      'address',
      '¿Cuál es la dirección de envío?',
      'paseo del Prado nueve | dos ocho cero uno cuatro | Madrid',
    ],
    ['hesitation', 'Buenos días, ¿en qué le puedo ayudar?', 'llamo por la | factura de marzo'],
    ['trailing', 'Buenos días, ¿en qué le puedo ayudar?', 'mi lavadora hace eh | un ruido raro'],
    ['open', 'Buenos días, ¿en qué le puedo ayudar?', 'quisiera cambiar mi cita'],
  ],
  it: [
    [
      'number',
      'Mi può dare il suo numero di cellulare?',
      'tre quattro nove | ventuno quarantacinque | settanta otto',
    ],
    ['number', 'Qual è il suo codice di sei cifre?', 'settantuno | zero quattro | ottantotto'],
    ['email', 'E la sua mail?', 'tommaso punto gallo chiocciola | libero punto it'],
    ['spelling', 'Può fare lo spelling del cognome?', 'Moretti, M O R E | T T I'],
    ['date', 'La sua data di nascita, per favore?', 'nove ottobre | millenovecentosessantaquattro'],
    ['yes', 'Quindi due adulti e un bambino, giusto?', 'giusto'],
    ['option', 'Preferisce martedì o giovedì?', 'giovedì'],
    ['address', 'Dove consegniamo? Mi dica il suo indirizzo.', 'via Verdi 22 | 40121 | Bologna'],
    [
      'address',
      'Qual è il suo indirizzo di residenza?',
      'viale Mazzini nove | zero zero uno nove cinque | Roma',
    ],
    ['hesitation', 'Buongiorno, in cosa posso esserle utile?', 'chiamo per la | fattura di marzo'],
    ['trailing', 'Buongiorno, in cosa posso esserle utile?', 'la mia lavatrice fa ehm | un rumore strano'],
    ['open', 'Buongiorno, in cosa posso esserle utile?', 'vorrei spostare il mio appuntamento'],
  ],
  nl: [
    ['number', 'Mag ik uw mobiele nummer?', 'nul zes | vierentwintig | negentien | nul drie | vijftig'],
    ['number', 'Wat is uw code van zes cijfers?', 'eenenzeventig | nul vier | achtentachtig'],
    ['email', 'En uw e-mailadres?', 'tom punt bos apenstaartje | ziggo punt nl'],
    ['spelling', 'Kunt u uw achternaam spellen?', 'Mulder, M U L | D E R'],
    ['date', 'Uw geboortedatum, alstublieft?', 'negen oktober | negentienhonderdvierenzestig'],
    ['yes', 'Dus twee volwassenen en een kind, klopt dat?', 'dat klopt'],
    ['option', 'Heeft u liever dinsdag of donderdag?', 'donderdag'],
    ['address', 'Waar mogen we bezorgen? Mag ik uw adres?', 'Dorpsstraat 22 | 3811 AB | Amersfoort'],
    ['address', 'Wat is uw woonadres?', 'Beukenlaan negen | vijf zes vijf een C D | Eindhoven'],
    ['hesitation', 'Goedemorgen, hoe kan ik u helpen?', 'ik bel over de | factuur van maart'],
    ['trailing', 'Goedemorgen, hoe kan ik u helpen?', 'mijn wasmachine maakt eh | een raar geluid'],
    ['open', 'Goedemorgen, hoe kan ik u helpen?', 'ik wil mijn afspraak verzetten'],
  ],
  pt: [
    ['number', 'Pode dar-me o seu número de telemóvel?', 'nove três quatro | vinte e um | setenta | dezoito'],
    ['number', 'Qual é o seu código de seis dígitos?', 'setenta e um | zero quatro | oitenta e oito'],
    ['email', 'E o seu e-mail?', 'tomás ponto gil arroba | sapo ponto pt'],
    ['spelling', 'Pode soletrar o seu apelido?', 'Moreira, M O R E | I R A'],
    [
      'date',
      'A sua data de nascimento, por favor?',
      'nove de outubro | de mil novecentos e sessenta e quatro',
    ],
    ['yes', 'Então dois adultos e uma criança, certo?', 'isso mesmo'],
    ['option', 'Prefere terça ou quinta?', 'quinta'],
    ['address', 'Onde entregamos? Diga-me a sua morada.', 'rua do Sol 22 | 4050-301 | Porto'],
    ['address', 'Qual é o seu endereço completo?', 'rua Bela Vista nove | Campinas | 13015-200'],
    ['hesitation', 'Bom dia, em que posso ajudar?', 'estou a ligar por causa da | fatura de março'],
    ['trailing', 'Bom dia, em que posso ajudar?', 'a minha máquina de lavar faz hmm | um barulho estranho'],
    ['open', 'Bom dia, em que posso ajudar?', 'queria mudar a minha consulta'],
  ],
};

/** What some callers add to an answer that looked whole, by language. */
export const ADDED: Readonly<Record<string, string>> = {
  en: 'and could you send me a text about it',
  de: 'und können Sie mir das bitte schicken',
  fr: "et pouvez-vous m'envoyer un message",
  es: 'y me lo puede mandar por mensaje',
  it: 'e me lo può mandare per messaggio',
  nl: 'en kunt u mij dat sturen',
  pt: 'e pode mandar-me isso por mensagem',
};

const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  en: ['tuesday', 'thursday'],
  de: ['dienstag', 'donnerstag'],
  fr: ['mardi', 'jeudi'],
  es: ['martes', 'jueves'],
  it: ['martedì', 'giovedì'],
  nl: ['dinsdag', 'donderdag'],
  pt: ['terça', 'quinta'],
};
const NINE_DIGITS = /nine digit/;
const SIX_DIGITS = /sechsstellig|six chiffres|seis d|sei cifre|zes cijfers/;

/** What a model that gives hints says of such a question. */
export function hintOf([kind, question]: Row, language: string): Expectation | null {
  switch (kind) {
    case 'number':
      if (NINE_DIGITS.test(question)) return { kind: 'digits', lengths: [9] };
      return SIX_DIGITS.test(question) ? { kind: 'digits', lengths: [6] } : { kind: 'phone' };
    case 'email':
      return { kind: 'email' };
    case 'spelling':
      return { kind: 'spelling', names: [] };
    case 'date':
      return { kind: 'birth' };
    case 'yes':
      return { kind: 'yes_no', isOffer: false };
    case 'option':
      return { kind: 'choice', options: OPTIONS[language] ?? [] };
    case 'address':
      return { kind: 'postal' };
    case 'hesitation':
    case 'trailing':
    case 'open':
      return null;
    default:
      return kind satisfies never;
  }
}

/**
 * A second set of questions and answers that is held back: it was written before its figures were first
 * taken, and no rule, word or wait was chosen by it. Numbers are said as callers say them, also where the
 * rules do not know that form.
 */
import type { Expectation } from '#runtime/turn/text/expectation.ts';
import type { Row } from './catalogue.ts';

/** By language. */
export const UNSEEN: Readonly<Record<string, readonly Row[]>> = {
  en: [
    ['number', 'What number can I reach you at?', 'it is 917 | 555 | 0148'],
    [
      'number',
      'Can you read me the eight digits on the back?',
      'four one | one seven | zero zero | two nine',
    ],
    ['email', 'What email should I send it to?', 'kate dot moss at | outlook dot com'],
    ['spelling', 'Can you spell your surname for me?', 'Barlow, B A R | L O W'],
    ['date', 'What is your date of birth?', 'July twenty third | nineteen seventy one'],
    ['yes', 'Did I get that right?', 'yes that is right'],
    ['option', 'Morning or afternoon?', 'the afternoon please'],
    [
      'address',
      'What is your address?',
      'eighteen Maple Avenue | Portland Oregon | nine seven two oh one',
    ],
    ['address', 'Could you give me the delivery address?', '42 Harbour Road | Bristol | BS1 4QD'],
    ['hesitation', 'What is this about?', 'I need to cancel my | appointment on Monday'],
    ['trailing', 'What is this about?', 'we ordered a sofa and uh | it came in the wrong colour'],
    ['open', 'What is this about?', 'my internet is not working since yesterday'],
  ],
  de: [
    [
      'number',
      'Unter welcher Nummer erreichen wir Sie?',
      'null eins sieben zwei | drei drei vier | fünf sechs sieben acht',
    ],
    [
      'number',
      'Können Sie mir die achtstellige Kundennummer nennen?',
      'vierundzwanzig | dreizehn | null sechs | neunundneunzig',
    ],
    ['email', 'An welche E-Mail-Adresse soll ich das schicken?', 'karin punkt weber at | gmx punkt de'],
    ['spelling', 'Wie schreibt man Ihren Nachnamen?', 'Schubert, S C H U | B E R T'],
    ['date', 'Wann sind Sie geboren?', 'dreiundzwanzigster Juli | neunzehnhunderteinundsiebzig'],
    ['yes', 'Habe ich das richtig verstanden?', 'ja das ist richtig'],
    ['option', 'Lieber Montag oder Dienstag?', 'Dienstag bitte'],
    ['address', 'Wie lautet Ihre Adresse?', 'Lindenstraße achtzehn | fünf null sechs sieben vier | Köln'],
    ['address', 'An welche Lieferadresse?', 'Am Alten Markt 7 | 01067 | Dresden'],
    ['hesitation', 'Worum geht es?', 'ich möchte meinen Termin am | Montag absagen'],
    ['trailing', 'Worum geht es?', 'wir haben ein Sofa bestellt und ähm | es kam in der falschen Farbe'],
    ['open', 'Worum geht es?', 'mein Internet geht seit gestern nicht'],
  ],
  fr: [
    [
      'number',
      'À quel numéro peut-on vous joindre ?',
      'zéro six | vingt-deux | quarante-cinq | zéro neuf | treize',
    ],
    [
      'number',
      'Pouvez-vous me lire les huit chiffres de votre contrat ?',
      'vingt-quatre | treize | zéro six | quatre-vingt-dix-neuf',
    ],
    ['email', "À quelle adresse e-mail dois-je l'envoyer ?", 'claire point morel arobase | free point fr'],
    ['spelling', "Comment s'écrit votre nom ?", 'Girard, G I R | A R D'],
    ['date', 'Quand êtes-vous né ?', 'le vingt-trois juillet | mille neuf cent soixante et onze'],
    ['yes', "C'est bien cela ?", "oui c'est bien ça"],
    ['option', 'Lundi ou mardi ?', 'plutôt mardi'],
    ['address', 'Quelle est votre adresse ?', 'dix-huit rue des Lilas | soixante-neuf mille trois | Lyon'],
    ['address', "Quelle est l'adresse de livraison ?", '7 avenue Victor Hugo | 33000 | Bordeaux'],
    ['hesitation', "C'est à quel sujet ?", 'je dois annuler mon rendez-vous de | lundi'],
    [
      'trailing',
      "C'est à quel sujet ?",
      'nous avons commandé un canapé et euh | il est arrivé dans la mauvaise couleur',
    ],
    ['open', "C'est à quel sujet ?", 'mon internet ne marche plus depuis hier'],
  ],
  es: [
    [
      'number',
      '¿A qué número le podemos llamar?',
      'seis cinco cuatro | treinta y dos | cero nueve | diecisiete',
    ],
    [
      'number',
      '¿Me dice las ocho cifras de su contrato?',
      'veinticuatro | trece | cero seis | noventa y nueve',
    ],
    ['email', '¿A qué correo se lo envío?', 'marta punto ruiz arroba | gmail punto com'],
    ['spelling', '¿Cómo se escribe su apellido?', 'Garrido, G A R R | I D O'],
    ['date', '¿Cuándo nació usted?', 'el veintitrés de julio | de mil novecientos setenta y uno'],
    ['yes', '¿Lo he entendido bien?', 'sí eso es'],
    ['option', '¿El lunes o el martes?', 'mejor el martes'],
    ['address', '¿Cuál es su dirección?', 'calle Olivo dieciocho | cuatro seis cero cero dos | Valencia'],
    ['address', '¿Me da la dirección de entrega?', 'avenida de la Constitución 7 | 41001 | Sevilla'],
    ['hesitation', '¿De qué se trata?', 'necesito anular mi cita del | lunes'],
    ['trailing', '¿De qué se trata?', 'pedimos un sofá y eh | llegó en otro color'],
    ['open', '¿De qué se trata?', 'mi internet no funciona desde ayer'],
  ],
  it: [
    [
      'number',
      'A che numero la possiamo richiamare?',
      'tre tre otto | quarantacinque | zero nove | diciassette tre',
    ],
    [
      'number',
      'Mi legge le otto cifre del contratto?',
      'ventiquattro | tredici | zero sei | novantanove',
    ],
    ['email', 'A quale indirizzo email lo mando?', 'marta punto riva chiocciola | gmail punto com'],
    ['spelling', 'Come si scrive il suo cognome?', 'Ferrari, F E R R | A R I'],
    ['date', 'Quando è nato?', 'il ventitré luglio | millenovecentosettantuno'],
    ['yes', 'Ho capito bene?', 'sì è giusto'],
    ['option', 'Lunedì o martedì?', 'meglio martedì'],
    ['address', 'Qual è il suo indirizzo?', 'via degli Ulivi diciotto | cinque zero uno due uno | Firenze'],
    ['address', "Mi dà l'indirizzo di consegna?", 'piazza Garibaldi 7 | 80142 | Napoli'],
    ['hesitation', 'Di cosa si tratta?', 'devo disdire il mio appuntamento di | lunedì'],
    [
      'trailing',
      'Di cosa si tratta?',
      'abbiamo ordinato un divano e ehm | è arrivato del colore sbagliato',
    ],
    ['open', 'Di cosa si tratta?', 'da ieri internet non funziona'],
  ],
  nl: [
    [
      'number',
      'Op welk nummer kunnen we u bereiken?',
      'nul zes | tweeëntwintig | vijfenveertig | nul negen | dertien',
    ],
    [
      'number',
      'Kunt u de acht cijfers van uw contract noemen?',
      'vierentwintig | dertien | nul zes | negenennegentig',
    ],
    ['email', 'Naar welk e-mailadres mag ik het sturen?', 'karin punt smit apenstaartje | ziggo punt nl'],
    ['spelling', 'Hoe schrijf je uw achternaam?', 'Dekker, D E K | K E R'],
    ['date', 'Wanneer bent u geboren?', 'drieëntwintig juli | negentienhonderd eenenzeventig'],
    ['yes', 'Heb ik dat goed begrepen?', 'ja dat is goed'],
    ['option', 'Maandag of dinsdag?', 'liever dinsdag'],
    ['address', 'Wat is uw adres?', 'Lindelaan achttien | drieëndertig elf G K | Rotterdam'],
    ['address', 'Wat is het bezorgadres?', 'Marktplein 7 | 5611 EB | Eindhoven'],
    ['hesitation', 'Waar gaat het over?', 'ik moet mijn afspraak van | maandag afzeggen'],
    [
      'trailing',
      'Waar gaat het over?',
      'we hebben een bank besteld en uh | hij kwam in de verkeerde kleur',
    ],
    ['open', 'Waar gaat het over?', 'mijn internet werkt sinds gisteren niet'],
  ],
  pt: [
    [
      'number',
      'Para que número podemos ligar?',
      'nove um seis | quarenta e cinco | zero nove | dezassete',
    ],
    [
      'number',
      'Pode dizer-me os oito dígitos do contrato?',
      'vinte e quatro | treze | zero seis | noventa e nove',
    ],
    ['email', 'Para que e-mail envio?', 'marta ponto reis arroba | gmail ponto com'],
    ['spelling', 'Como se escreve o seu apelido?', 'Ferreira, F E R R | E I R A'],
    ['date', 'Quando nasceu?', 'vinte e três de julho | de mil novecentos e setenta e um'],
    ['yes', 'Percebi bem?', 'sim está correto'],
    ['option', 'Segunda ou terça?', 'terça por favor'],
    [
      'address',
      'Qual é a sua morada?',
      'rua das Oliveiras dezoito | quatro zero zero zero zero um um | Porto',
    ],
    ['address', 'Qual é o endereço de entrega?', 'avenida Paulista 700 | São Paulo | 01310-100'],
    ['hesitation', 'De que se trata?', 'preciso de cancelar a minha consulta de | segunda'],
    ['trailing', 'De que se trata?', 'encomendámos um sofá e hmm | veio na cor errada'],
    ['open', 'De que se trata?', 'a minha internet não funciona desde ontem'],
  ],
};

const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  en: ['morning', 'afternoon'],
  de: ['montag', 'dienstag'],
  fr: ['lundi', 'mardi'],
  es: ['lunes', 'martes'],
  it: ['lunedì', 'martedì'],
  nl: ['maandag', 'dinsdag'],
  pt: ['segunda', 'terça'],
};
const EIGHT_DIGITS = /eight|acht|huit|ocho|otto|oito/;

/** What a model that gives hints says of such a question. */
export function hintOf([kind, question]: Row, language: string): Expectation | null {
  switch (kind) {
    case 'number':
      return EIGHT_DIGITS.test(question) ? { kind: 'digits', lengths: [8] } : { kind: 'phone' };
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

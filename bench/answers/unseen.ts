/**
 * A fourth set of questions and answers, which decides nothing: it was written after the rules, and no word,
 * rule or wait was changed by its figures.
 */
import type { Expectation } from '#runtime/turn/text/expectation.ts';
import type { Row } from './catalogue.ts';

/** By language. */
export const UNSEEN: Readonly<Record<string, readonly Row[]>> = {
  en: [
    ['number', 'Great. Could I get a callback number?', 'six one nine | five five five | oh one seven seven'],
    [
      'number',
      'To find your booking I need the five digit reference. What is it?',
      'three oh | four one nine',
    ],
    ['email', 'Perfect, and your email?', 'lisa underscore brown at | yahoo dot com'],
    ['spelling', 'Thank you. Could you spell that name for me, please?', 'Harper, H A R | P E R'],
    ['date', "For security, what's your date of birth?", 'February eleventh | nineteen ninety two'],
    ['yes', 'I have you down for Friday at six. Is that right?', "yes that's right"],
    ['option', 'Is this for business or leisure?', 'business'],
    [
      'address',
      'Thanks. What address should the technician come to?',
      '221 Cedar Avenue | Denver Colorado | 80203',
    ],
    ['address', 'Could you confirm your billing address for me?', 'sixteen Station Road | Leeds | LS1 4DY'],
    [
      'hesitation',
      'Thanks for calling. What can I help you with?',
      'I would like to speak to | someone in sales',
    ],
    [
      'trailing',
      'Thanks for calling. What can I help you with?',
      'my order came without the um | power cable',
    ],
    [
      'open',
      'Thanks for calling. What can I help you with?',
      'I want to return a jacket that I bought last week',
    ],
  ],
  de: [
    [
      'number',
      'Gut. Unter welcher Telefonnummer kann ich Sie zurückrufen?',
      'null eins fünf sieben | drei null neun | vier vier acht zwei eins',
    ],
    [
      'number',
      'Dafür brauche ich Ihre fünfstellige Kundennummer. Wie lautet sie?',
      'drei null | vier eins neun',
    ],
    ['email', 'Sehr gut, und Ihre E-Mail?', 'lisa unterstrich braun at | web punkt de'],
    ['spelling', 'Danke. Können Sie mir den Namen bitte buchstabieren?', 'Hartwig, H A R T | W I G'],
    ['date', 'Zur Sicherheit: Wie ist Ihr Geburtsdatum?', 'elfter Februar | neunzehnhundertzweiundneunzig'],
    ['yes', 'Ich habe Sie für Freitag um sechs eingetragen. Stimmt das?', 'ja das stimmt'],
    ['option', 'Ist das geschäftlich oder privat?', 'privat'],
    ['address', 'Danke. An welche Adresse soll der Techniker kommen?', 'Zedernallee 221 | 50667 | Köln'],
    [
      'address',
      'Können Sie mir Ihre Rechnungsadresse nennen?',
      'Bahnhofstraße sechzehn | null vier eins null neun | Leipzig',
    ],
    [
      'hesitation',
      'Danke für Ihren Anruf. Wie kann ich helfen?',
      'ich würde gern sprechen mit | jemandem im Verkauf',
    ],
    [
      'trailing',
      'Danke für Ihren Anruf. Wie kann ich helfen?',
      'bei meiner Bestellung fehlte das äh | Netzkabel',
    ],
    ['open', 'Danke für Ihren Anruf. Wie kann ich helfen?', 'ich möchte eine Jacke zurückgeben'],
  ],
  fr: [
    [
      'number',
      'Très bien. À quel numéro puis-je vous rappeler ?',
      'zéro sept | soixante-dix-sept | zéro un | dix-neuf | vingt et un',
    ],
    [
      'number',
      'Il me faut votre référence à cinq chiffres. Quelle est-elle ?',
      'trente | quatre cent dix-neuf',
    ],
    ['email', 'Parfait, et votre e-mail ?', 'lise point brun arobase | wanadoo point fr'],
    ['spelling', "Merci. Pouvez-vous m'épeler ce nom ?", 'Hardy, H A R | D Y'],
    [
      'date',
      'Par sécurité, quelle est votre date de naissance ?',
      'le onze février | mille neuf cent quatre-vingt-douze',
    ],
    ['yes', "Je vous ai noté pour vendredi à dix-huit heures. C'est exact ?", "oui c'est exact"],
    ['option', "C'est professionnel ou personnel ?", 'professionnel'],
    [
      'address',
      'Merci. À quelle adresse le technicien doit-il venir ?',
      '221 avenue des Cèdres | 69002 | Lyon',
    ],
    [
      'address',
      'Pouvez-vous me donner votre adresse de facturation ?',
      'seize rue de la Gare | cinq neuf zéro zéro zéro | Lille',
    ],
    ['hesitation', 'Merci de votre appel. Comment puis-je vous aider ?', 'je voudrais parler à | un vendeur'],
    [
      'trailing',
      'Merci de votre appel. Comment puis-je vous aider ?',
      'dans ma commande il manquait le euh | câble',
    ],
    ['open', 'Merci de votre appel. Comment puis-je vous aider ?', 'je veux rendre une veste'],
  ],
  es: [
    [
      'number',
      'Muy bien. ¿A qué teléfono le puedo llamar?',
      'seis siete siete | cero uno | diecinueve | veintiuno',
    ],
    ['number', 'Necesito su referencia de cinco cifras. ¿Cuál es?', 'treinta | cuatro uno nueve'],
    ['email', 'Perfecto, ¿y su email?', 'luisa guion bajo moreno arroba | yahoo punto es'],
    ['spelling', 'Gracias. ¿Me puede deletrear el nombre?', 'Herrera, H E R R | E R A'],
    [
      'date',
      'Por seguridad, ¿cuál es su fecha de nacimiento?',
      'once de febrero | de mil novecientos noventa y dos',
    ],
    ['yes', 'Le tengo apuntado para el viernes a las seis. ¿Es correcto?', 'sí es correcto'],
    ['option', '¿Es por trabajo o por placer?', 'por trabajo'],
    [
      'address',
      'Gracias. ¿A qué dirección debe ir el técnico?',
      'avenida de los Cedros 221 | 08001 | Barcelona',
    ],
    [
      'address',
      '¿Me puede dar su dirección de facturación?',
      'calle Estación dieciséis | cuatro ocho cero cero uno | Bilbao',
    ],
    ['hesitation', 'Gracias por llamar. ¿En qué le ayudo?', 'me gustaría hablar con | alguien de ventas'],
    ['trailing', 'Gracias por llamar. ¿En qué le ayudo?', 'en mi pedido faltaba el eh | cable'],
    ['open', 'Gracias por llamar. ¿En qué le ayudo?', 'quiero devolver una chaqueta'],
  ],
  it: [
    [
      'number',
      'Bene. A quale numero posso richiamarla?',
      'tre due zero | settantasette zero uno | diciannove due',
    ],
    ['number', 'Mi serve il codice di cinque cifre. Qual è?', 'trenta | quattro uno nove'],
    ['email', 'Perfetto, e la sua email?', 'luisa trattino bruni chiocciola | tiscali punto it'],
    ['spelling', 'Grazie. Può scandirmi il nome?', 'Arduini, A R D U | I N I'],
    ['date', 'Per sicurezza, qual è la sua data di nascita?', 'undici febbraio | millenovecentonovantadue'],
    ['yes', "L'ho segnata per venerdì alle sei. È giusto?", 'sì è giusto'],
    ['option', 'È per lavoro o per piacere?', 'per lavoro'],
    ['address', 'Grazie. A quale indirizzo deve venire il tecnico?', 'viale dei Cedri 221 | 00185 | Roma'],
    [
      'address',
      'Mi può dare il suo indirizzo di fatturazione?',
      'via Stazione sedici | uno zero uno due uno | Torino',
    ],
    [
      'hesitation',
      'Grazie della chiamata. Come posso aiutarla?',
      'vorrei parlare con | qualcuno delle vendite',
    ],
    ['trailing', 'Grazie della chiamata. Come posso aiutarla?', 'nel mio ordine mancava il ehm | cavo'],
    ['open', 'Grazie della chiamata. Come posso aiutarla?', 'voglio restituire una giacca'],
  ],
  nl: [
    [
      'number',
      'Goed. Op welk telefoonnummer kan ik u terugbellen?',
      'nul zes | zevenenzeventig | nul een | negentien | eenentwintig',
    ],
    ['number', 'Ik heb uw nummer van vijf cijfers nodig. Wat is het?', 'dertig | vier een negen'],
    ['email', 'Perfect, en uw e-mail?', 'lisa punt bruin apenstaartje | xs4all punt nl'],
    ['spelling', 'Dank u. Kunt u die naam voor me spellen?', 'Hartman, H A R T | M A N'],
    ['date', 'Voor de veiligheid: wat is uw geboortedatum?', 'elf februari | negentienhonderdtweeënnegentig'],
    ['yes', 'Ik heb u genoteerd voor vrijdag om zes uur. Klopt dat?', 'ja dat klopt'],
    ['option', 'Is dit zakelijk of privé?', 'zakelijk'],
    ['address', 'Dank u. Naar welk adres moet de monteur komen?', 'Cederlaan 221 | 3012 AA | Rotterdam'],
    [
      'address',
      'Kunt u mij uw factuuradres geven?',
      'Stationsstraat zestien | een nul een twee A B | Amsterdam',
    ],
    [
      'hesitation',
      'Bedankt voor het bellen. Waarmee kan ik helpen?',
      'ik wil graag praten met | iemand van verkoop',
    ],
    [
      'trailing',
      'Bedankt voor het bellen. Waarmee kan ik helpen?',
      'in mijn bestelling ontbrak de eh | kabel',
    ],
    ['open', 'Bedankt voor het bellen. Waarmee kan ik helpen?', 'ik wil een jas terugbrengen'],
  ],
  pt: [
    [
      'number',
      'Muito bem. Para que telefone posso ligar?',
      'nove seis sete | sete zero | dezanove | vinte e um',
    ],
    ['number', 'Preciso da sua referência de cinco dígitos. Qual é?', 'trinta | quatro um nove'],
    ['email', 'Perfeito, e o seu email?', 'luísa ponto moreno arroba | clix ponto pt'],
    ['spelling', 'Obrigado. Pode soletrar o nome, por favor?', 'Herrera, H E R R | E R A'],
    [
      'date',
      'Por segurança, qual é a sua data de nascimento?',
      'onze de fevereiro | de mil novecentos e noventa e dois',
    ],
    ['yes', 'Tenho-o marcado para sexta às seis. Está correto?', 'sim está correto'],
    ['option', 'É em trabalho ou em lazer?', 'em trabalho'],
    ['address', 'Obrigado. A que morada deve ir o técnico?', 'avenida dos Cedros 221 | 1050-061 | Lisboa'],
    [
      'address',
      'Pode confirmar o seu endereço de cobrança?',
      'rua da Estação dezasseis | Recife | 50010-010',
    ],
    ['hesitation', 'Obrigado por ligar. Em que posso ajudar?', 'gostava de falar com | alguém das vendas'],
    ['trailing', 'Obrigado por ligar. Em que posso ajudar?', 'na minha encomenda faltava o hmm | cabo'],
    ['open', 'Obrigado por ligar. Em que posso ajudar?', 'quero devolver um casaco'],
  ],
};

/** Sentences that some callers add to an answer that looked whole, by language. */
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
  en: ['business', 'leisure'],
  de: ['geschäftlich', 'privat'],
  fr: ['professionnel', 'personnel'],
  es: ['trabajo', 'placer'],
  it: ['lavoro', 'piacere'],
  nl: ['zakelijk', 'privé'],
  pt: ['trabalho', 'lazer'],
};
const FIVE_DIGITS = /five digit|fünfstellig|cinq chiffres|cinco cifras|cinque cifre|vijf cijfers|cinco d/;

/** The right hint to such a question; no model is asked. */
export function hintOf([kind, question]: Row, language: string): Expectation | null {
  switch (kind) {
    case 'number':
      return FIVE_DIGITS.test(question) ? { kind: 'digits', lengths: [5] } : { kind: 'phone' };
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

/**
 * Questions of agents and answers of callers, in the languages whose questions are known. `|` is a pause
 * within an answer. Rules are written against the first set of each language; no wait is chosen by the
 * second, which showed mistakes that were mended. `opened.ts` and `unseen.ts` have further ones.
 */

/** Kind of an answer. */
export type Kind =
  | 'number'
  | 'email'
  | 'spelling'
  | 'date'
  | 'yes'
  | 'option'
  | 'address'
  | 'hesitation'
  | 'trailing'
  | 'open';

/** A question and its answer. */
export type Row = readonly [kind: Kind, question: string, answer: string];

/** The answers of one language. */
export interface Answers {
  readonly tuning: readonly Row[];
  readonly heldBack: readonly Row[];
}

/** By language. */
export const ANSWERS: Readonly<Record<string, Answers>> = {
  en: {
    tuning: [
      ['number', "What's your phone number?", 'five five five | one two three | four five six seven'],
      ['number', "What's your phone number?", '555 123 4567'],
      ['number', 'Please tell me the six digit code.', 'one two | three four | five six'],
      ['number', 'What are the last four digits of your card?', 'twelve | thirty four'],
      ['email', "What's your email address?", 'anna at | gmail dot com'],
      ['spelling', 'How do you spell Kowalski?', 'K O W | A L S K I'],
      ['date', "What's your date of birth?", 'March fifth | nineteen eighty five'],
      ['yes', 'Is that correct?', 'Yes, that is correct.'],
      ['option', 'Is that for pickup or delivery?', 'Delivery.'],
      ['address', "What's your address?", '12 Main Street | Springfield | 62704'],
      [
        'address',
        'And the billing address?',
        'two twenty Oak Lane | Austin Texas | seven eight seven oh one',
      ],
      ['hesitation', 'How can I help you?', 'I would like a table for | two people tomorrow'],
      ['trailing', 'How can I help you?', 'I wanted to ask about um | the opening hours'],
      ['open', 'How can I help you?', 'I want to book a table.'],
    ],
    heldBack: [
      ['number', 'Could I have your phone number, please?', 'two oh six | five five five | oh one four two'],
      ['number', 'And your zip code?', 'nine four | one ten'],
      ['number', "What's your phone number?", 'my number is 415 | 555 | 0132'],
      ['email', 'May I have an email address?', 'j smith at | icloud dot com'],
      ['spelling', 'Could you spell your last name?', 'Nguyen, N G U | Y E N'],
      ['date', 'And your date of birth?', 'the first of May | two thousand and two'],
      ['yes', 'Does that work for you?', 'that works'],
      ['option', 'Small, medium or large?', 'medium, please'],
      ['hesitation', 'What can I do for you?', 'my order has not arrived and | I need it on Friday'],
      ['trailing', 'What can I do for you?', 'it is about the uh | invoice from March'],
      ['open', 'What can I do for you?', 'I have not received my parcel.'],
    ],
  },
  de: {
    tuning: [
      [
        'number',
        'Wie ist Ihre Telefonnummer?',
        'null eins fünf eins | zwölf vierunddreißig | sechsundfünfzig achtundsiebzig',
      ],
      ['number', 'Wie ist Ihre Handynummer?', '0171 | 234 | 5678'],
      ['number', 'Nennen Sie bitte die letzten vier Ziffern.', 'einundzwanzig | vierzig'],
      ['email', 'Wie lautet Ihre E-Mail-Adresse?', 'anna at | web punkt de'],
      ['spelling', 'Können Sie Kowalski buchstabieren?', 'K O W | A L S K I'],
      ['date', 'Wie ist Ihr Geburtsdatum?', 'fünfter März | neunzehnhundertfünfundachtzig'],
      ['yes', 'Ist das richtig?', 'Ja, genau.'],
      ['option', 'Passt es vormittags oder nachmittags?', 'Nachmittags.'],
      ['address', 'Wie ist Ihre Anschrift?', 'Hauptstraße fünf | acht null drei drei eins | München'],
      ['address', 'Und Ihre Rechnungsadresse?', 'Gartenweg 12 | 20095 | Hamburg'],
      ['hesitation', 'Wie kann ich Ihnen helfen?', 'Ich hätte gern einen Tisch für | zwei Personen'],
      ['trailing', 'Wie kann ich Ihnen helfen?', 'Es geht um ähm | meine Rechnung'],
      ['open', 'Wie kann ich Ihnen helfen?', 'Ich möchte einen Tisch reservieren.'],
    ],
    heldBack: [
      [
        'number',
        'Ihre Rufnummer, bitte?',
        'null eins sieben sechs | neun acht sieben sechs | fünf vier drei zwei',
      ],
      ['number', 'Wie lauten die letzten sechs Ziffern?', 'elf | zweiundzwanzig | dreiunddreißig'],
      ['email', 'Ihre E-Mail-Adresse, bitte?', 'jan punkt vogel at | posteo punkt de'],
      ['spelling', 'Buchstabieren Sie bitte Ihren Namen.', 'Vogel, V wie Viktor, O G | E L'],
      ['date', 'Und Ihr Geburtsdatum?', 'der erste Mai | zweitausendzwei'],
      ['yes', 'Stimmt das so?', 'das stimmt'],
      ['option', 'Innen oder draußen?', 'lieber draußen'],
      [
        'hesitation',
        'Was kann ich für Sie tun?',
        'Meine Bestellung ist nicht da und | ich brauche sie am Freitag',
      ],
      ['trailing', 'Was kann ich für Sie tun?', 'Ich wollte fragen äh | wann Sie öffnen'],
      ['open', 'Was kann ich für Sie tun?', 'Mein Paket ist nicht angekommen.'],
    ],
  },
  fr: {
    tuning: [
      [
        'number',
        'Quel est votre numéro de téléphone ?',
        'zéro six | douze trente-quatre | cinquante-six soixante-dix-huit',
      ],
      ['number', 'Quel est votre numéro de portable ?', '06 12 | 34 56 78'],
      ['number', 'Quels sont les quatre derniers chiffres ?', 'vingt et un | quarante'],
      ['email', 'Quel est votre e-mail ?', 'anne arobase | orange point fr'],
      ['spelling', 'Pouvez-vous épeler Kowalski ?', 'K O W | A L S K I'],
      ['date', 'Quelle est votre date de naissance ?', 'le cinq mars | mille neuf cent quatre-vingt-cinq'],
      ['yes', 'Est-ce correct ?', "Oui, c'est ça."],
      ['option', 'Plutôt le matin ou le soir ?', 'Le soir.'],
      ['address', 'Votre adresse postale ?', '12 rue de la Paix | 75002 | Paris'],
      ['address', 'Quelle est votre adresse complète ?', 'cinq place du Marché | 67000 | Strasbourg'],
      ['hesitation', 'Comment puis-je vous aider ?', 'Je voudrais une table pour | deux personnes'],
      ['trailing', 'Comment puis-je vous aider ?', 'Je voudrais savoir euh | vos horaires'],
      ['open', 'Comment puis-je vous aider ?', 'Je voudrais réserver une table.'],
    ],
    heldBack: [
      ['number', 'Votre numéro de téléphone ?', 'zéro sept | quatre-vingt-un quatorze | trois vingt-deux'],
      [
        'number',
        'Votre numéro de téléphone ?',
        'zéro un quarante-quatre | soixante et onze | quatre-vingt-dix-neuf vingt et un',
      ],
      ['email', 'Votre adresse e-mail ?', 'jean arobase | laposte point net'],
      ['spelling', "Épelez votre nom, s'il vous plaît.", 'Duval, D comme Daniel, U V | A L'],
      ['date', 'Votre date de naissance ?', 'premier mai | deux mille deux'],
      ['yes', 'Cela vous convient ?', 'parfait'],
      ['option', 'En salle ou en terrasse ?', 'en terrasse, merci'],
      [
        'hesitation',
        'Que puis-je faire pour vous ?',
        "Ma commande n'est pas arrivée et | j'en ai besoin vendredi",
      ],
      ['trailing', 'Que puis-je faire pour vous ?', "C'est au sujet de euh | ma facture"],
      ['open', 'Que puis-je faire pour vous ?', "Mon colis n'est pas arrivé."],
    ],
  },
  es: {
    tuning: [
      [
        'number',
        '¿Cuál es su número de teléfono?',
        'seiscientos doce | treinta y cuatro | cincuenta y seis | setenta y ocho',
      ],
      ['number', '¿Cuál es su teléfono?', '55 | 1234 | 5678'],
      ['number', '¿Cuáles son los últimos cuatro dígitos?', 'veintiuno | cuarenta'],
      ['email', '¿Cuál es su correo?', 'ana arroba | ejemplo punto es'],
      ['spelling', '¿Puede deletrear Kowalski?', 'K O W | A L S K I'],
      ['date', '¿Cuál es su fecha de nacimiento?', 'el cinco de marzo | de mil novecientos ochenta y cinco'],
      ['yes', '¿Es correcto?', 'Sí, correcto.'],
      ['option', '¿Por la mañana o por la tarde?', 'Por la tarde.'],
      ['address', '¿Cuál es su domicilio?', 'calle Mayor cinco | dos ocho cero uno tres | Madrid'],
      ['address', '¿Y la dirección postal?', 'plaza de España 3 | 50001 | Zaragoza'],
      ['hesitation', '¿En qué puedo ayudarle?', 'Quería una mesa para | dos personas'],
      ['trailing', '¿En qué puedo ayudarle?', 'Quería preguntar eh | por el horario'],
      ['open', '¿En qué puedo ayudarle?', 'Quiero reservar una mesa.'],
    ],
    heldBack: [
      [
        'number',
        '¿Su número de móvil, por favor?',
        'seis ocho siete | cuarenta y uno | diecinueve | noventa',
      ],
      ['number', '¿Su teléfono?', 'nueve uno cinco | tres dos uno | cero seis cuatro'],
      ['email', '¿Su correo electrónico?', 'luis arroba | correo punto es'],
      ['spelling', '¿Me puede deletrear su apellido?', 'Vidal, V I D | A L'],
      ['date', '¿Y su fecha de nacimiento?', 'primero de mayo | del dos mil dos'],
      ['yes', '¿Está bien así?', 'así es'],
      ['option', '¿Dentro o fuera?', 'fuera, por favor'],
      ['hesitation', '¿Qué desea?', 'Mi pedido no ha llegado y | lo necesito el viernes'],
      ['trailing', '¿Qué desea?', 'Es sobre la eh | factura de marzo'],
      ['open', '¿Qué desea?', 'Mi paquete no ha llegado.'],
    ],
  },
  it: {
    tuning: [
      [
        'number',
        'Qual è il suo numero di telefono?',
        'trecentoquarantasette | dodici trentaquattro | cinquecentosessantasette',
      ],
      ['number', 'Qual è il suo numero di cellulare?', '347 | 123 | 4567'],
      ['number', 'Quali sono le ultime quattro cifre?', 'ventuno | quaranta'],
      ['email', 'Qual è la sua email?', 'anna chiocciola | libero punto it'],
      ['spelling', 'Può scandire Kowalski?', 'K O W | A L S K I'],
      ['date', 'Qual è la sua data di nascita?', 'cinque marzo | millenovecentottantacinque'],
      ['yes', 'È corretto?', 'Sì, esatto.'],
      ['option', 'Mattina o pomeriggio?', 'Pomeriggio.'],
      ['address', 'Il suo indirizzo completo?', 'via Roma cinque | due zero uno due uno | Milano'],
      ['address', "Qual è l'indirizzo?", 'corso Italia 22 | 16145 | Genova'],
      ['hesitation', 'Come posso aiutarla?', 'Vorrei un tavolo per | due persone'],
      ['trailing', 'Come posso aiutarla?', 'Volevo sapere ehm | gli orari'],
      ['open', 'Come posso aiutarla?', 'Vorrei prenotare un tavolo.'],
    ],
    heldBack: [
      ['number', 'Il suo numero di telefono?', 'tre due otto | quarantuno novantanove | zero zero sei'],
      ['number', 'Mi dica le ultime sei cifre.', 'undici | ventidue | trentatré'],
      ['email', 'Il suo indirizzo email?', 'luca chiocciola | posta punto it'],
      ['spelling', 'Scandire il cognome, per favore.', 'Vitale, V I T | A L E'],
      ['date', 'E la sua data di nascita?', 'primo maggio | duemiladue'],
      ['yes', 'Va bene così?', 'perfetto'],
      ['option', 'Dentro o fuori?', 'fuori, grazie'],
      ['hesitation', 'Cosa desidera?', 'Il mio ordine è in ritardo e | mi serve venerdì'],
      ['trailing', 'Cosa desidera?', 'È per la ehm | fattura di marzo'],
      ['open', 'Cosa desidera?', 'Il mio pacco è in ritardo.'],
    ],
  },
  nl: {
    tuning: [
      ['number', 'Wat is uw telefoonnummer?', 'nul zes | twaalf vierendertig | zesenvijftig achtenzeventig'],
      ['number', 'Wat is uw mobiele nummer?', '06 | 1234 | 5678'],
      ['number', 'Wat zijn de laatste vier cijfers?', 'eenentwintig | veertig'],
      ['email', 'Wat is uw e-mailadres?', 'anna apenstaartje | ziggo punt nl'],
      ['spelling', 'Kunt u Kowalski spellen?', 'K O W | A L S K I'],
      ['date', 'Wat is uw geboortedatum?', 'vijf maart | negentienhonderdvijfentachtig'],
      ['yes', 'Is dat juist?', 'Ja, dat klopt.'],
      ['option', 'Binnen of buiten?', 'Buiten.'],
      ['address', 'Wat is uw volledige adres?', 'Kerkstraat vijf | 1017 GA | Amsterdam'],
      ['address', 'En het factuuradres?', 'Stationsweg 40 | 2515 BN | Den Haag'],
      ['hesitation', 'Waarmee kan ik u helpen?', 'Ik wil graag een tafel voor | twee personen'],
      ['trailing', 'Waarmee kan ik u helpen?', 'Ik wilde vragen uh | hoe laat u opent'],
      ['open', 'Waarmee kan ik u helpen?', 'Ik wil een tafel reserveren.'],
    ],
    heldBack: [
      ['number', 'Mag ik uw telefoonnummer?', 'nul twintig | drieëntwintig elf | nul negen vier'],
      ['number', 'Noemt u alstublieft de laatste zes cijfers.', 'elf | tweeëntwintig | drieëndertig'],
      ['email', 'Mag ik uw e-mailadres?', 'jan apenstaartje | kpn punt nl'],
      ['spelling', 'Kunt u uw naam spellen?', 'Visser, V I S | S E R'],
      ['date', 'En uw geboortedatum?', 'een mei | tweeduizend twee'],
      ['yes', 'Klopt dat zo?', 'dat klopt'],
      ['option', 'Ophalen of bezorgen?', 'bezorgen graag'],
      ['hesitation', 'Wat kan ik voor u doen?', 'Mijn bestelling is er niet en | ik heb hem vrijdag nodig'],
      ['trailing', 'Wat kan ik voor u doen?', 'Het gaat over eh | de factuur'],
      ['open', 'Wat kan ik voor u doen?', 'Mijn pakket is niet aangekomen.'],
    ],
  },
  pt: {
    tuning: [
      [
        'number',
        'Qual é o seu número de telefone?',
        'nove um dois | trinta e quatro | cinquenta e seis | setenta e oito',
      ],
      ['number', 'Qual é o seu celular?', '11 | 98765 | 4321'],
      ['number', 'Quais são os últimos quatro dígitos?', 'vinte e um | quarenta'],
      ['email', 'Qual é o seu e-mail?', 'ana arroba | sapo ponto pt'],
      ['spelling', 'Pode soletrar Kowalski?', 'K O W | A L S K I'],
      ['date', 'Qual é a sua data de nascimento?', 'cinco de março | de mil novecentos e oitenta e cinco'],
      ['yes', 'Está certo?', 'Sim, está certo.'],
      ['option', 'De manhã ou à tarde?', 'À tarde.'],
      ['address', 'Qual é a sua morada completa?', 'rua Augusta cinco | 1100-048 | Lisboa'],
      ['address', 'Qual é o seu endereço?', 'rua das Flores 80 | Curitiba | 80020-090'],
      ['hesitation', 'Como posso ajudar?', 'Queria uma mesa para | duas pessoas'],
      ['trailing', 'Como posso ajudar?', 'Queria saber hmm | o horário'],
      ['open', 'Como posso ajudar?', 'Quero reservar uma mesa.'],
    ],
    heldBack: [
      ['number', 'O seu telefone, por favor?', 'nove três meia | quarenta e um | dezanove | noventa'],
      ['number', 'Qual é o seu telefone?', 'dois um nove | três dois um | zero meia quatro'],
      ['email', 'O seu e-mail?', 'rui arroba | correio ponto pt'],
      ['spelling', 'Pode soletrar o seu apelido?', 'Vidal, V I D | A L'],
      ['date', 'E a sua data de nascimento?', 'primeiro de maio | de dois mil e dois'],
      ['yes', 'Pode ser assim?', 'é isso'],
      ['option', 'Dentro ou fora?', 'fora, por favor'],
      ['hesitation', 'O que deseja?', 'A minha encomenda não chegou e | preciso dela na sexta'],
      ['trailing', 'O que deseja?', 'É sobre a hmm | fatura de março'],
      ['open', 'O que deseja?', 'A minha encomenda não chegou.'],
    ],
  },
};

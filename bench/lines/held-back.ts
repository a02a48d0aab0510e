/**
 * Lines that were written before the rules and that no rule was tuned on: the honest figure of the table.
 * A line that the rules get wrong stays here as it is.
 */
import { type Line, linesIn } from './line.ts';

const ENGLISH = linesIn('en', [
  ['menu', 'For billing, press 1. For technical support, press 2. To hear this again, press star.'],
  ['menu', 'If you know your party’s extension, dial it now. For reception, press zero.'],
  ['menu', 'To make a new reservation press one, to change an existing one press two.'],
  ['menu', 'In a few words, tell me what you are calling about.'],
  ['menu', 'Please say or enter your account number followed by the pound key.'],
  ['menu', 'Say yes to continue or no to start over.'],
  ['menu', 'Press any key to continue.'],
  ['hold', 'All of our representatives are currently assisting other callers.'],
  ['hold', 'You are caller number four. Your estimated wait time is six minutes.'],
  ['hold', 'We appreciate your patience. Someone will be with you shortly.'],
  ['hold', 'Please hold while I transfer your call.'],
  ['hold', 'We are experiencing higher than normal call volumes. Please remain on the line.'],
  ['hold', 'Hang on, let me grab a pen.'],
  ['hold', 'Just a sec, I will get her for you.'],
  [
    'screening',
    'Hello, this is a call screening assistant. Please tell me your name and the reason for your call.',
  ],
  ['screening', 'Before I connect you, who is calling and what is it about?'],
  [
    'screening',
    'The person you are trying to reach does not take unknown calls. ' +
      'State your name after which I will try to connect you.',
  ],
  ['machine', 'Hi, this is Dave. I can’t get to the phone, leave me a message after the beep.'],
  ['machine', 'The mailbox is full and cannot accept any messages at this time. Goodbye.'],
  ['machine', 'You have reached the voicemail of 555 0123. Please record your message at the tone.'],
  ['unknown', 'Thank you for calling Northside Dental.'],
  ['unknown', 'Your call may be monitored for training purposes.'],
  ['unknown', 'Our offices are currently closed. Our hours are Monday to Friday from nine to five. Goodbye.'],
  [
    'unknown',
    'Did you know that you can pay your bill on our website? Visit example dot com to find out more today.',
    'hold',
  ],
  [
    'unknown',
    'Ask about our new winter rates and save up to thirty percent ' +
      'when you switch before the end of the month.',
    'hold',
  ],
  ['person', 'Hello?'],
  ['person', 'Yeah?'],
  ['person', 'Northside Dental, this is Karen.'],
  ['person', 'Good morning, front desk, how may I direct your call?'],
  ['person', 'Who is this?'],
  ['person', 'Thanks for holding, this is Pete in claims, how can I help?', 'hold'],
  ['person', 'Sorry about the wait, what can I do for you?', 'hold'],
  ['person', 'Hi there', 'hold'],
  ['person', 'Hello, I saw you were calling about the delivery', 'screening'],
  ['person', 'I do not need anything, please take me off your list.'],
  ['person', 'If this is about the car warranty press one to go away, ha ha, just kidding, who is it?'],
  ['person', 'Mom is not here right now, she is at work, do you want her number?'],
  ['person', 'We are actually closed but go ahead, what do you need?'],
]);

const GERMAN = linesIn('de', [
  ['menu', 'Für Fragen zu Ihrer Rechnung wählen Sie die Zwei, für alle anderen Anliegen die Drei.'],
  ['menu', 'Bitte nennen Sie uns in wenigen Worten Ihr Anliegen.'],
  ['hold', 'Leider sind alle unsere Mitarbeiter noch im Gespräch. Bitte haben Sie etwas Geduld.'],
  ['hold', 'Sie sind an Position drei in der Warteschlange.'],
  ['hold', 'Warten Sie kurz, ich schaue nach.'],
  ['screening', 'Hallo, bitte sagen Sie Ihren Namen und warum Sie anrufen.'],
  ['machine', 'Der Teilnehmer ist zurzeit nicht erreichbar. Sprechen Sie bitte nach dem Ton.'],
  ['unknown', 'Herzlich willkommen bei der Musterbank.'],
  ['person', 'Müller, guten Tag.'],
  ['person', 'Danke fürs Warten, mein Name ist Schmidt, was kann ich für Sie tun?', 'hold'],
  ['person', 'Ja bitte?'],
]);

const FRENCH = linesIn('fr', [
  ['menu', 'Pour suivre une commande, tapez 1. Pour parler à un conseiller, tapez 2.'],
  ['menu', 'Après la musique, appuyez sur la touche étoile pour revenir au menu précédent.'],
  ['hold', 'Toutes nos lignes sont actuellement occupées, merci de bien vouloir patienter.'],
  ['hold', 'Attendez une petite minute, je regarde.'],
  ['screening', 'Bonjour, dites votre nom et pourquoi vous appelez.'],
  ['machine', 'Vous êtes bien sur la messagerie de Paul, laissez un message après le bip.'],
  ['unknown', 'Bienvenue chez Dupont Assurances.'],
  ['person', 'Allô oui ?'],
  ['person', 'Cabinet Dupont, Marie à l’appareil, que puis-je faire pour vous ?', 'hold'],
]);

const SPANISH = linesIn('es', [
  ['menu', 'Para información sobre su pedido, marque uno. Para hablar con un agente, marque cero.'],
  ['menu', 'Díganos en pocas palabras el motivo de su consulta.'],
  ['hold', 'En este momento todos nuestros operadores se encuentran ocupados. No cuelgue, por favor.'],
  ['hold', 'Espere un momentito, ahora le paso.'],
  ['screening', 'Hola, diga su nombre y por qué llama.'],
  ['machine', 'No puedo atenderte ahora, deja tu mensaje después de la señal.'],
  ['unknown', 'Gracias por llamar a Seguros Sol.'],
  ['person', '¿Dígame?'],
  ['person', 'Gracias por esperar, le atiende Laura, ¿en qué puedo ayudarle?', 'hold'],
]);

const ITALIAN = linesIn('it', [
  ['menu', 'Per informazioni commerciali digiti uno, per assistenza digiti due.'],
  ['hold', 'I nostri operatori sono momentaneamente occupati. La preghiamo di restare in attesa.'],
  ['hold', 'Un secondo che controllo.'],
  ['screening', 'Salve, dica il suo nome e perché sta chiamando.'],
  ['machine', 'Segreteria telefonica: lasciate un messaggio dopo il segnale acustico.'],
  ['person', 'Pronto, chi parla?'],
  ['person', 'Buongiorno sono Anna, come posso aiutarla?', 'hold'],
]);

const PORTUGUESE = linesIn('pt', [
  ['menu', 'Para segunda via da conta, digite um. Para falar com um atendente, digite nove.'],
  ['hold', 'Todos os nossos atendentes estão ocupados. Por favor, aguarde na linha.'],
  ['hold', 'Só um instante que eu vou verificar.'],
  ['screening', 'Olá, diga o seu nome e por que está ligando.'],
  ['machine', 'Deixe o seu recado após o sinal.'],
  ['person', 'Alô, quem fala?'],
  ['person', 'Obrigada por aguardar, meu nome é Júlia, em que posso ajudar?', 'hold'],
]);

/** All of them. */
export const HELD_BACK: readonly Line[] = [
  ...ENGLISH,
  ...GERMAN,
  ...FRENCH,
  ...SPANISH,
  ...ITALIAN,
  ...PORTUGUESE,
];

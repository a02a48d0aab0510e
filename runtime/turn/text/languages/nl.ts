/** Dutch: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const nl = {
  phrases: {
    hold: 'Een ogenblik, alstublieft.',
    transferring: 'Ik verbind u nu door.',
    toolFiller: 'Ik kijk het even voor u na.',
    trouble: 'Sorry, er ging net iets mis. Kunt u dat herhalen?',
    apology: 'Het spijt me, er zijn technische problemen. Belt u later nog eens. Tot ziens.',
    goodbye: 'Tot ziens.',
    timeIsUp: 'Onze tijd is om. Dank u wel, tot ziens.',
    stillThere: 'Bent u er nog?',
    cannotHear:
      'Het spijt me, ik kan op deze lijn geen spraak verstaan. Gebruik de toetsen of typ uw bericht.',
    back: 'Sorry, ik was u even kwijt.',
  },
  acknowledgements:
    'ja|jawel|jazeker|zeker|zeker weten|ok|oké|okay|oke|goed|prima|precies|exact|klopt|dat klopt|juist|' +
    'inderdaad|akkoord|mhm|hm|hmm|aha|ah|ach|oh|o|och|goh|wauw|wow|echt|echt waar|ik snap het|snap ik|' +
    'dat snap ik|ik begrijp het|begrijp ik|dat begrijp ik|begrepen|eh|uh|ah zo|ach zo|zo is het|' +
    'dat is goed|is goed|perfect|mooi|mooi zo|fijn|heel goed|goed zo|uitstekend|duidelijk|helder|' +
    'natuurlijk|uiteraard|vanzelfsprekend|top|tof|cool|leuk|super|geweldig|fantastisch|graag|heel graag|' +
    'geen probleem|geen punt|maakt niet uit|komt goed|in orde|komt in orde|goed om te weten|' +
    'fijn om te horen|goed idee|nou goed|nou mooi',
  listening: {
    openings: 'dat is|dat klinkt|klinkt|dat lijkt me|lijkt me|dat zou|is|wat',
    degrees: 'heel|erg|echt|zeer|hartstikke|super|ontzettend|helemaal|wel|ook|zo',
    qualities:
      'goed|goed om te weten|mooi|fijn|leuk|top|prima|duidelijk|helder|perfect|interessant|geweldig|' +
      'fantastisch|uitstekend|prachtig|handig|logisch|waar|juist|aardig|lief|oké|okay|ok|in orde|' +
      'een goed idee',
    courtesies: 'dank u|dank u wel|dank je|dank je wel|bedankt|hartelijk dank|hoor|dan|zeg|meneer|mevrouw',
  },
  symbols: {
    at: 'apenstaartje',
    dot: 'punt',
    dash: 'streepje',
    underscore: 'laag streepje',
    slash: 'schuine streep',
    plus: 'plus',
  },
  abbreviations:
    'bijv.=bijvoorbeeld|d.w.z.=dat wil zeggen|enz.=enzovoort|ca.=circa|nr.=nummer|dhr.=de heer|' +
    'mevr.=mevrouw|dr.=dokter|tel.=telefoon|incl.=inclusief|a.u.b.=alstublieft|&=en',
  questions: {
    yes: 'ja|jawel|jazeker|oké|oke|okay|ok|zeker|natuurlijk|graag|prima',
    surely: 'klopt|dat klopt|precies|juist|correct|inderdaad|dat is goed|dat is juist',
    no: 'nee|neen',
    closing: 'dat is alles|dat was het|dat was alles|verder niets',
    courtesy: 'alstublieft|alsjeblieft|dank u|dank je|bedankt|dank u wel|dank je wel|hoor',
    open:
      'wie|wiens|wat|welke|welk|wanneer|waar|waarom|waarvoor|waarmee|hoe|hoeveel|vertellen|vertel|' +
      'uitleggen|beschrijven|herhalen|geven|zeggen|mag ik vragen|mag ik uw|weet u|weet je|' +
      'noemen|voorlezen|doorgeven|kijken of|vragen of|controleren of',
    offers: 'nog iets|verder nog|nog vragen|verder helpen',
    or: 'of',
    requests: 'alstublieft|alsjeblieft|ik heb nodig|mag ik',
    phone:
      'telefoonnummer|mobiele nummer|mobiel nummer|06-nummer|gsm-nummer|op welk nummer|onder welk nummer',
    phoneLengths: '0=9,10',
    numbers: '',
    digits: 'cijfers',
    email: 'e-mail|email|e-mailadres|emailadres|mailadres',
    postal: {
      names:
        'uw adres|je adres|jouw adres|het adres|postadres|bezorgadres|afleveradres|woonadres|' +
        'huisadres|factuuradres|volledige adres',
      streets:
        'straat|weg|laan|plein|gracht|kade|dijk|singel|-straat|-weg|-laan|-plein|-gracht|-kade|-dijk|' +
        '-singel|-hof|-markt',
      beforeTown: [4],
      atEnd: [],
      townBegins: 'den|de|sint|st|nieuw',
    },
    spelling: 'spellen|spel|hoe schrijf|schrijft u|hoe schrijft',
    fullName: 'volledige naam|voor en achternaam',
    birth: 'geboortedatum|geboren',
    several: 'telefoonnummers|nummers|adressen|e-mailadressen|namen|beide',
    joins: 'en|plus|evenals|alsook',
    about:
      'welk land|welke stad|waar|geboorteplaats|' +
      'landnummer|landcode|welk netnummer|wat is het netnummer|de rest|eerste deel|tweede deel|' +
      'laatste deel|welk jaar|welke maand|welke dag|hoe laat|sinds wanneer|waarom|hoe lang|hoelang|' +
      'hoe vaak|hoeveel|wie|wiens|een moment|momentje|terwijl',
    announces: 'nummer|code|adres|e-mail|datum|rekening|naam|boeking|bestelling',
    otherwise: 'pardon|sorry|wat|waarom|hoe|wie|hallo|nog|niet|geen|niets|nooit|zonder|wacht|herhalen',
    leads: 'en|de|het|uw|je|jouw|een|laatste|eerste|volledige',
    begins: 'het is|dat is|is|ja|zeker',
    asIn: 'van|als in',
  },
  pressing: {
    always:
      'ik heb … gedrukt|ik heb … ingedrukt|ik druk|druk ik|ik toets|ik heb … ingetoetst|' +
      'ik heb … getoetst|ik ga … drukken',
    withKey: 'ik heb … gekozen|ik voer … in|ik heb … ingevoerd',
    keys: 'één|sterretje|hekje|toets|toetsen|toestelnummer',
    denials: 'niet|geen|nooit',
  },
} satisfies LanguageTexts;

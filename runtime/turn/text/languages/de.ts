/** German: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const de = {
  phrases: {
    hold: 'Einen Moment bitte.',
    transferring: 'Ich verbinde Sie jetzt.',
    toolFiller: 'Ich sehe kurz nach.',
    trouble: 'Entschuldigung, da ist etwas schiefgegangen. Können Sie das bitte wiederholen?',
    apology:
      'Es tut mir leid, es gibt technische Schwierigkeiten. Bitte rufen Sie später wieder an. Auf ' +
      'Wiederhören.',
    goodbye: 'Auf Wiederhören.',
    timeIsUp: 'Unsere Zeit ist um. Vielen Dank, auf Wiederhören.',
    stillThere: 'Sind Sie noch da?',
    cannotHear:
      'Es tut mir leid, ich kann auf dieser Leitung keine Sprache verstehen. Bitte nutzen Sie die Tasten ' +
      'oder schreiben Sie mir.',
    back: 'Entschuldigung, die Verbindung war kurz weg.',
  },
  acknowledgements:
    'ja|jo|jawohl|jep|jap|jup|ok|okay|oki|genau|ganz genau|exakt|gut|na gut|na klar|na dann|mhm|hm|hmm|' +
    'aha|ach|ach ja|ach so|achso|soso|verstehe|ich verstehe|verstehe ich|verstanden|hab ich verstanden|' +
    'habe ich verstanden|alles verstanden|klar|alles klar|schon klar|richtig|korrekt|stimmt|das stimmt|' +
    'eben|äh|ähm|ah|oh|oha|wow|echt|ach echt|wirklich|tatsächlich|super|prima|perfekt|toll|klasse|spitze|' +
    'cool|fein|schön|sehr gut|sehr schön|wie schön|wunderbar|in ordnung|geht in ordnung|geht klar|' +
    'ist gut|schon gut|alles gut|passt|das passt|einverstanden|natürlich|selbstverständlich|sicher|' +
    'logisch|absolut|definitiv|auf jeden fall|kein problem|kein thema|macht nichts|gerne|gern|sehr gerne|' +
    'interessant|gut zu wissen|macht sinn|das macht sinn|ergibt sinn|das ergibt sinn|leuchtet ein|' +
    'hört sich gut an|das hört sich gut an|ist notiert',
  listening: {
    openings: 'das ist|das wäre|das klingt|klingt|ist',
    degrees: 'sehr|wirklich|echt|ja|doch|ganz|so|total|richtig|auch|schon',
    qualities:
      'gut|super|prima|perfekt|toll|schön|klasse|spitze|wunderbar|interessant|spannend|fein|nett|lieb|' +
      'richtig|korrekt|klar|logisch|verständlich|okay|ok|in ordnung|hervorragend|ausgezeichnet|' +
      'fantastisch|großartig|praktisch|hilfreich|cool|gut zu wissen',
    courtesies: 'danke|danke schön|dankeschön|danke sehr|danke ihnen|vielen dank|besten dank|gell',
  },
  symbols: {
    at: 'ät',
    dot: 'Punkt',
    dash: 'Bindestrich',
    underscore: 'Unterstrich',
    slash: 'Schrägstrich',
    plus: 'plus',
  },
  abbreviations:
    'z.B.=zum Beispiel|d.h.=das heißt|u.a.=unter anderem|usw.=und so weiter|bzw.=beziehungsweise|' +
    'ca.=circa|evtl.=eventuell|inkl.=inklusive|zzgl.=zuzüglich|Nr.=Nummer|Str.=Straße|Std.=Stunden|' +
    'Min.=Minuten|Tel.=Telefon|Hr.=Herr|Fr.=Frau|Dr.=Doktor|Prof.=Professor|ggf.=gegebenenfalls|&=und',
  consult: {
    introduction: 'Guten Tag, hier ist {agent}. Ich habe einen Anruf für Sie, von der Nummer {number}.',
    introductionWithoutNumber: 'Guten Tag, hier ist {agent}. Ich habe einen Anruf für Sie.',
    question: 'Darf ich verbinden? Bitte sagen Sie ja oder nein.',
    declined: 'In Ordnung. Vielen Dank, auf Wiederhören.',
    callerGone: 'Leider hat der Anrufer aufgelegt. Auf Wiederhören.',
    yes: 'ja|gerne|gern|okay|ok|klar|natürlich|verbinden sie|bitte sehr',
    no: 'nein|nicht|nee|später|kein|keine',
    voicemail: 'nach dem ton|nach dem signalton|mailbox|anrufbeantworter|hinterlassen sie',
  },
  questions: {
    yes: 'ja|jawohl|jo|okay|ok|klar|natürlich|gerne|gern',
    surely: 'genau|richtig|stimmt|korrekt|das stimmt|das ist richtig|passt|das passt',
    no: 'nein|nee|nö',
    closing: "das war's|das wars|das ist alles|das wäre alles|sonst nichts|alles gut",
    courtesy: 'bitte|danke|vielen dank|danke schön',
    open:
      'wer|wen|wem|wessen|was|welche|welcher|welches|welchen|welchem|wann|wo|woher|wohin|warum|wieso|' +
      'weshalb|wie|wieviel|womit|wofür|worum|sagen sie mir|erzählen|beschreiben|erklären|wiederholen|' +
      'noch einmal sagen|nennen|geben|vorlesen|durchgeben|mitteilen|darf ich fragen',
    offers: 'sonst noch|noch etwas|noch was|weitere fragen|noch fragen|weiterhelfen',
    or: 'oder',
    requests: 'bitte|nennen sie|sagen sie|ich brauche|brauche ich',
    phone:
      'telefonnummer|handynummer|mobilnummer|rufnummer|rückrufnummer|unter welcher nummer|auf welcher nummer',
    // Mobile numbers have one length for each beginning.
    phoneLengths: '015=12|016=11|01609=12|017=11|0176=12|0=8,12',
    numbers: '',
    digits: 'ziffern|stellen|stellig|stellige|stelligen|stelliger|stelliges',
    email: 'e-mail|email|e-mail-adresse|email-adresse|mailadresse|e-mailadresse|emailadresse',
    postal: {
      names:
        'ihre adresse|deine adresse|die adresse|anschrift|postanschrift|postadresse|lieferadresse|' +
        'lieferanschrift|rechnungsadresse|wohnadresse|privatadresse|vollständige adresse',
      streets:
        'straße|strasse|str|weg|platz|allee|gasse|ring|damm|ufer|-straße|-strasse|-str|-weg|-platz|' +
        '-allee|-gasse|-ring|-damm|-ufer|-graben|-markt',
      beforeTown: [4, 5],
      atEnd: [],
      townBegins: 'am|an|im|bei|ob|bad|sankt|st|neu|groß|klein|alt',
    },
    spelling: 'buchstabieren|buchstabiere|schreibt man|schreiben sie|schreibt sich',
    fullName: 'vor und nachname|vor und nachnamen|vollständiger name|vollständigen namen|voller name',
    birth: 'geburtsdatum|geboren',
    several: 'telefonnummern|handynummern|nummern|e-mail-adressen|adressen|postleitzahlen|beide',
    joins: 'und|sowie|plus',
    about:
      'welchem land|welches land|welcher stadt|welche stadt|wo sind|wo wurden|geburtsort|' +
      'landesvorwahl|ländervorwahl|welche vorwahl|vorwahl ihrer|ist die vorwahl|lautet die vorwahl|' +
      'den rest|der rest|restlichen|ersten teil|zweiten teil|letzten teil|welches jahr|welchem jahr|' +
      'welcher monat|welchem monat|welcher tag|welchem tag|seit wann|wann soll|wann kann|wann haben|' +
      'warum|wieso|weshalb|wie lange|wie oft|wie viele|wer|wem|wessen|moment|während ich',
    announces: 'nummer|kundennummer|code|adresse|e-mail|datum|konto|name|buchung|bestellung',
    otherwise:
      'bitte was|was|wie|warum|wieso|wer|hallo|entschuldigung|nochmal|nicht|kein|keine|keinen|nichts|' +
      'ohne|moment|doch',
    leads: 'und|die|der|das|ihre|ihr|ihren|dann|noch|letzten|ersten|vollständiger|voller',
    begins: 'das ist|es ist|ist|die|lautet|ja|klar|gerne',
    asIn: 'wie',
  },
  pressing: {
    always:
      'ich drücke|drücke ich|ich habe … gedrückt|habe ich … gedrückt|ich drücke jetzt|' +
      'ich werde … drücken',
    withKey:
      'ich wähle|wähle ich|ich tippe|ich habe … gewählt|ich habe … eingegeben|' +
      'ich habe … eingetippt|drücke jetzt',
    keys: 'eins|taste|tasten|stern|sternchen|raute|rautetaste|sterntaste|durchwahl|nebenstelle',
    denials: 'nicht|kein|keine|keinen|nie',
  },
} satisfies LanguageTexts;

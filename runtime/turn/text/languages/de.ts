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
    'ja|jo|ok|okay|genau|gut|mhm|hm|hmm|aha|ach so|achso|verstehe|klar|alles klar|richtig|stimmt|äh|ähm',
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
} satisfies LanguageTexts;

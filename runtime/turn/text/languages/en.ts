/** English: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const en = {
  phrases: {
    hold: 'One moment, please.',
    transferring: "I'll connect you now.",
    toolFiller: 'Let me check that for you.',
    trouble: "I'm sorry, I had a problem just now. Could you say that again?",
    apology: "I'm sorry, I'm having technical difficulties. Please call again later. Goodbye.",
    goodbye: 'Goodbye.',
    timeIsUp: 'Our time is up. Thank you, goodbye.',
    stillThere: 'Are you still there?',
    cannotHear:
      "I'm sorry, I can't understand speech on this line. Please use your keypad or type your message.",
    back: 'Sorry, I lost you for a second.',
  },
  acknowledgements:
    'yes|yeah|yep|yup|ok|okay|right|sure|uh huh|uh-huh|mm-hmm|mhm|mm hmm|mm|hmm|i see|got it|all right|' +
    'alright|ah|oh|uh|um',
  symbols: { at: 'at', dot: 'dot', dash: 'dash', underscore: 'underscore', slash: 'slash', plus: 'plus' },
  abbreviations:
    'e.g.=for example|i.e.=that is|etc.=et cetera|approx.=approximately|vs.=versus|vs=versus|No.=number|' +
    'dept.=department|Dept.=Department|Ave.=Avenue|Blvd.=Boulevard|Rd.=Road|Ltd.=Limited|' +
    'Inc.=Incorporated|Co.=Company|Corp.=Corporation|Jr.=Junior|Sr.=Senior|Jan.=January|Feb.=February|' +
    'Aug.=August|Sept.=September|Oct.=October|Nov.=November|Dec.=December|Mon.=Monday|Tue.=Tuesday|' +
    'Wed.=Wednesday|Thu.=Thursday|Fri.=Friday|&=and',
  consult: {
    introduction: 'Hello, this is {agent}. I have a caller for you on the line, from the number {number}.',
    introductionWithoutNumber: 'Hello, this is {agent}. I have a caller for you on the line.',
    question: 'May I connect you? Please say yes or no.',
    declined: 'All right. Thank you, goodbye.',
    callerGone: 'I am sorry, the caller has hung up. Goodbye.',
    yes:
      'yes|yeah|yep|sure|okay|ok|please do|go ahead|put them through|put him through|put her through|' +
      'connect|of course',
    no: "no|nope|not|don't|can't|cannot|busy|later|never",
    voicemail:
      'leave a message|leave your message|after the tone|after the beep|voicemail|voice mail|mailbox|' +
      'record your message',
  },
} satisfies LanguageTexts;

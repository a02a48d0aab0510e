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
    'yes|yeah|yep|yup|yea|yah|ya|aye|ok|okay|kay|okey dokey|okie dokie|righto|alrighty|right|sure|' +
    "sure thing|uh huh|uh-huh|mm-hmm|mhm|mm hmm|mm|hmm|i see|got it|i got it|i've got it|got that|" +
    'i got that|i get it|i hear you|gotcha|got ya|uhuh|all right|alright|ah|aha|oh|ooh|aw|uh|um|wow|gosh|' +
    'oh my|oh my god|oh my goodness|great|good|very good|perfect|sounds good|sounds great|good to know|' +
    'good to hear|good stuff|nice|nice one|cool|excellent|wonderful|lovely|fine|fine by me|i understand|' +
    'understood|makes sense|that makes sense|works for me|fair enough|of course|for sure|exactly|' +
    'precisely|absolutely|definitely|certainly|totally|indeed|really|true|correct|no problem|no worries|' +
    "okay then|ok then|alright then|all right then|right then|go on|go ahead|carry on|i'm listening|" +
    "i'm with you",
  listening: {
    openings: "that's|that is|that sounds|sounds|that'd be|that would be",
    degrees: 'very|really|so|pretty|quite|absolutely|totally|all|perfectly',
    qualities:
      'great|good|good to know|good to hear|perfect|nice|cool|excellent|wonderful|lovely|fine|amazing|' +
      'awesome|fantastic|brilliant|terrific|super|superb|neat|sweet|interesting|helpful|useful|clear|' +
      'reasonable|right|correct|true|fair|okay|ok|alright|all right',
    courtesies:
      'thanks|thank you|thank you very much|thank you so much|thanks a lot|thanks so much|many thanks|' +
      "cheers|sir|madam|ma'am",
  },
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
  questions: {
    yes: 'yes|yeah|yep|yup|sure|okay|ok|right|of course|absolutely|definitely|go ahead',
    surely:
      "correct|exactly|that's right|that is right|that's correct|that is correct|" +
      'that works|sounds good|yes it is',
    no: 'no|nope|nah',
    closing: "that's all|that is all|that's it|that's fine|nothing else|i'm fine|i'm good|not today",
    courtesy: "please|thanks|thank you|thank you very much|thank you so much|thanks so much|sir|madam|ma'am",
    open:
      "who|who's|whom|whose|what|what's|which|when|when's|where|where's|why|how|how's|tell me|describe|" +
      'explain|say that|say it|repeat|more about|give me|show me|walk me|may i have|may i get|may i take|' +
      'can i have|can i get|can i take|could i have|could i get|could i take|may i ask|elaborate|' +
      'clarify|specify|do you know|do you have your|do you have the|provide your|share your|' +
      'read me|read out|read it|read off|' +
      'you confirm|you verify|you provide|please confirm|please verify|please provide',
    offers: 'anything else|something else|anything more|any other questions|any more questions|any questions',
    or: 'or',
    requests: "please|tell me|give me|i need|i also need|i'll need|say",
    phone:
      'phone number|telephone number|mobile number|cell number|cellphone number|callback number|' +
      'contact number|what number can|which number can|what number should|at what number|best number to|' +
      'number to reach|number to call|number we can reach|number i can reach|' +
      'number can we reach',
    // No area code of North America has a second digit 9, or begins with 37 or 96: countries have such codes.
    phoneLengths:
      '0=9,11|011=9,15|1=10,11|27=7,11|29=7,12|353=7,12|37=7,12|39=7,12|44=7,12|49=7,13|59=7,12|61=7,11|' +
      '64=7,12|69=7,12|79=7,11|89=7,12|91=7,12|96=7,13|99=7,12|=7,10',
    numbers: 'zip code=5|zip=5',
    digits: 'digits|digit',
    email: 'email|e-mail|email address|e-mail address|mail address',
    postal: {
      names:
        'your address|the address|home address|street address|postal address|mailing address|' +
        'delivery address|billing address|shipping address|full address|complete address|what address',
      streets:
        'street|st|road|rd|avenue|ave|lane|drive|boulevard|court|place|square|terrace|close|crescent|' +
        'parkway|highway|circle|trail|gardens|way',
      beforeTown: [],
      atEnd: [5, 9],
      townBegins: 'new|saint|st|san|los|las|fort|salt|el',
    },
    spelling: 'spell|spelling|spelled|spelt|letter by letter',
    fullName: 'full name|first and last name|name and surname',
    birth: 'date of birth|birth date|birthdate|born',
    several:
      'phone numbers|telephone numbers|numbers|email addresses|e-mail addresses|emails|addresses|' +
      'zip codes|codes|names|birthdays|dates of birth|both',
    joins: 'and|plus|along with|followed by',
    about:
      'which country|what country|which city|what city|where were|where was|place of birth|birthplace|' +
      "country code|area code of|what area code|which area code|what's the area code|" +
      "what is the area code|what's your area code|what is your area code|rest of|the rest|remaining|" +
      'first part|second part|other part|next part|last part|what year|which year|what month|' +
      'which month|what day|which day|what time|which time|when did|when should|when can|when will|why|' +
      'how long|how many|how often|who|whose|while i|please hold|please wait|one moment',
    announces: 'number|code|address|email|e-mail|date|id|account|name|reference|booking|order',
    otherwise:
      "pardon|sorry|what|why|who|how|hello|huh|repeat|again|not|don't|doesn't|isn't|never|neither|" +
      'nothing|none|without|wait|actually|mean',
    leads: 'a|an|and|the|your|so|okay|ok|great|perfect|now|then|first|last|current|best|mobile|home',
    begins: "it's|it is|that's|that is|is|number's|yes|sure|okay|ok",
    asIn: 'as in|for|like',
  },
  pressing: {
    always:
      "i pressed|i've pressed|i have pressed|i just pressed|i've just pressed|i'm pressing|" +
      "i am pressing|i'll press|i will press|let me press|i'm going to press|i am going to press",
    withKey:
      "pressing|i press|i pushed|i've pushed|pushing|i entered|i've entered|i have entered|i'm entering|" +
      "i am entering|entering|i'll enter|i will enter|let me enter|i dialed|i dialled|" +
      "i've dialed|i've dialled|i have dialed|i have dialled|i'm dialing|i'm dialling|dialing|" +
      "dialling|i'll dial|i will dial|let me dial|i selected|i've selected|i'm selecting|" +
      "i'll select|i typed|i've typed|i keyed|i've keyed",
    keys: 'one|star|asterisk|pound|hash|key|keys|button|keypad|extension',
    denials: 'not|never',
  },
} satisfies LanguageTexts;

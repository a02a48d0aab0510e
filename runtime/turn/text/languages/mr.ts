/** Marathi: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const mr = {
  phrases: {
    hold: 'कृपया एक क्षण थांबा.',
    transferring: 'मी आता तुम्हाला जोडून देतो.',
    toolFiller: 'मी तपासून सांगतो.',
    trouble: 'माफ करा, काहीतरी अडचण आली. पुन्हा सांगाल का?',
    apology: 'माफ करा, तांत्रिक अडचण आली आहे. कृपया नंतर पुन्हा फोन करा. नमस्कार.',
    goodbye: 'धन्यवाद, नमस्कार.',
    timeIsUp: 'आपली वेळ संपली. धन्यवाद, नमस्कार.',
    stillThere: 'तुम्ही अजून लाइनवर आहात का?',
    cannotHear: 'माफ करा, या लाइनवर मला बोलणे समजत नाही. कृपया कीपॅड वापरा किंवा संदेश लिहा.',
    back: 'माफ करा, क्षणभर आवाज तुटला.',
  },
  acknowledgements: 'हो|होय|हां|जी|बरं|ठीक|ठीक आहे|अच्छा|ओके|हम्म|बरोबर|समजलं|कळलं|नक्की',
  symbols: { at: 'ॲट', dot: 'डॉट', dash: 'डॅश', underscore: 'अंडरस्कोर', slash: 'स्लॅश', plus: 'प्लस' },
} satisfies LanguageTexts;

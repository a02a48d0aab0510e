/** Hindi: what the agent says by itself, and how callers acknowledge. */
import type { LanguageTexts } from './language-texts.ts';

export const hi = {
  phrases: {
    hold: 'कृपया एक क्षण रुकिए।',
    transferring: 'मैं अभी आपकी बात करवाता हूँ।',
    toolFiller: 'मैं अभी देखकर बताता हूँ।',
    trouble: 'माफ़ कीजिए, अभी कुछ समस्या हुई। क्या आप फिर से बताएँगे?',
    apology: 'माफ़ कीजिए, हमें तकनीकी समस्या आ रही है। कृपया बाद में फिर से कॉल करें। नमस्ते।',
    goodbye: 'धन्यवाद, नमस्ते।',
    timeIsUp: 'हमारा समय पूरा हो गया। धन्यवाद, नमस्ते।',
    stillThere: 'क्या आप लाइन पर हैं?',
    cannotHear: 'माफ़ कीजिए, इस लाइन पर मैं आवाज़ नहीं समझ पा रहा हूँ। कृपया कीपैड का उपयोग करें या अपना संदेश लिखें।',
    back: 'माफ़ कीजिए, एक पल के लिए आवाज़ कट गई थी।',
  },
  acknowledgements: 'हाँ|हां|जी|जी हाँ|जी हां|हाँ जी|हां जी|ठीक|ठीक है|अच्छा|सही|सही है|हम्म|हूँ|ओके|समझ गया|समझ गई|बिल्कुल',
  symbols: { at: 'ऐट', dot: 'डॉट', dash: 'डैश', underscore: 'अंडरस्कोर', slash: 'स्लैश', plus: 'प्लस' },
} satisfies LanguageTexts;

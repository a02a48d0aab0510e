/** Nepali: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const ne = {
  phrases: {
    hold: 'कृपया एक छिन पर्खनुहोस्।',
    transferring: 'म अहिले नै जोडिदिन्छु।',
    toolFiller: 'म हेरेर भन्छु।',
    trouble: 'माफ गर्नुहोस्, केही समस्या भयो। फेरि भन्नुहुन्छ कि?',
    apology: 'माफ गर्नुहोस्, प्राविधिक समस्या आएको छ। कृपया पछि फेरि फोन गर्नुहोस्। नमस्ते।',
    goodbye: 'धन्यवाद, नमस्ते।',
    timeIsUp: 'हाम्रो समय सकियो। धन्यवाद, नमस्ते।',
    stillThere: 'तपाईं लाइनमा हुनुहुन्छ?',
    cannotHear: 'माफ गर्नुहोस्, यो लाइनमा म बोली बुझ्न सक्दिनँ। कृपया किप्याड प्रयोग गर्नुहोस् वा सन्देश लेख्नुहोस्।',
    back: 'माफ गर्नुहोस्, एक छिन आवाज काटियो।',
  },
  acknowledgements: 'हो|हजुर|अँ|ए|ठीक|ठीक छ|हुन्छ|राम्रो|ओके|हम्म|बुझें|बुझेँ|पक्का|सही',
  symbols: { at: 'एट', dot: 'डट', dash: 'ड्यास', underscore: 'अन्डरस्कोर', slash: 'स्ल्यास', plus: 'प्लस' },
} satisfies LanguageTexts;

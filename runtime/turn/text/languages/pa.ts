/** Punjabi: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const pa = {
  phrases: {
    hold: 'ਕਿਰਪਾ ਕਰਕੇ ਇੱਕ ਪਲ ਰੁਕੋ।',
    transferring: 'ਮੈਂ ਹੁਣੇ ਤੁਹਾਡੀ ਗੱਲ ਕਰਵਾਉਂਦਾ ਹਾਂ।',
    toolFiller: 'ਮੈਂ ਹੁਣੇ ਦੇਖਦਾ ਹਾਂ।',
    trouble: 'ਮਾਫ਼ ਕਰਨਾ, ਕੋਈ ਸਮੱਸਿਆ ਆਈ। ਕੀ ਤੁਸੀਂ ਦੁਬਾਰਾ ਦੱਸੋਗੇ?',
    apology: 'ਮਾਫ਼ ਕਰਨਾ, ਤਕਨੀਕੀ ਸਮੱਸਿਆ ਆ ਰਹੀ ਹੈ। ਕਿਰਪਾ ਕਰਕੇ ਬਾਅਦ ਵਿੱਚ ਫ਼ੋਨ ਕਰੋ। ਸਤ ਸ੍ਰੀ ਅਕਾਲ।',
    goodbye: 'ਧੰਨਵਾਦ, ਸਤ ਸ੍ਰੀ ਅਕਾਲ।',
    timeIsUp: 'ਸਾਡਾ ਸਮਾਂ ਪੂਰਾ ਹੋ ਗਿਆ। ਧੰਨਵਾਦ, ਸਤ ਸ੍ਰੀ ਅਕਾਲ।',
    stillThere: "ਕੀ ਤੁਸੀਂ ਲਾਈਨ 'ਤੇ ਹੋ?",
    cannotHear: "ਮਾਫ਼ ਕਰਨਾ, ਇਸ ਲਾਈਨ 'ਤੇ ਮੈਂ ਬੋਲੀ ਨਹੀਂ ਸਮਝ ਸਕਦਾ। ਕਿਰਪਾ ਕਰਕੇ ਕੀਪੈਡ ਵਰਤੋ ਜਾਂ ਸੁਨੇਹਾ ਲਿਖੋ।",
    back: 'ਮਾਫ਼ ਕਰਨਾ, ਇੱਕ ਪਲ ਲਈ ਆਵਾਜ਼ ਕੱਟ ਗਈ।',
  },
  acknowledgements: 'ਹਾਂ|ਜੀ|ਹਾਂ ਜੀ|ਹਾਂਜੀ|ਠੀਕ|ਠੀਕ ਹੈ|ਅੱਛਾ|ਚੰਗਾ|ਓਕੇ|ਹਮਮ|ਸਹੀ|ਸਮਝ ਗਿਆ|ਸਮਝ ਗਈ|ਬਿਲਕੁਲ',
  symbols: { at: 'ਐਟ', dot: 'ਡਾਟ', dash: 'ਡੈਸ਼', underscore: 'ਅੰਡਰਸਕੋਰ', slash: 'ਸਲੈਸ਼', plus: 'ਪਲੱਸ' },
} satisfies LanguageTexts;

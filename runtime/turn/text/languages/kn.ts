/** Kannada: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const kn = {
  phrases: {
    hold: 'ದಯವಿಟ್ಟು ಒಂದು ಕ್ಷಣ ಕಾಯಿರಿ.',
    transferring: 'ಈಗ ನಿಮ್ಮನ್ನು ಸಂಪರ್ಕಿಸುತ್ತೇನೆ.',
    toolFiller: 'ನಾನು ಪರಿಶೀಲಿಸುತ್ತೇನೆ.',
    trouble: 'ಕ್ಷಮಿಸಿ, ಒಂದು ತೊಂದರೆ ಆಯಿತು. ಮತ್ತೊಮ್ಮೆ ಹೇಳುತ್ತೀರಾ?',
    apology: 'ಕ್ಷಮಿಸಿ, ತಾಂತ್ರಿಕ ತೊಂದರೆ ಇದೆ. ದಯವಿಟ್ಟು ನಂತರ ಕರೆ ಮಾಡಿ. ನಮಸ್ಕಾರ.',
    goodbye: 'ಧನ್ಯವಾದಗಳು, ನಮಸ್ಕಾರ.',
    timeIsUp: 'ನಮ್ಮ ಸಮಯ ಮುಗಿಯಿತು. ಧನ್ಯವಾದಗಳು, ನಮಸ್ಕಾರ.',
    stillThere: 'ನೀವು ಇನ್ನೂ ಸಾಲಿನಲ್ಲಿದ್ದೀರಾ?',
    cannotHear: 'ಕ್ಷಮಿಸಿ, ಈ ಸಾಲಿನಲ್ಲಿ ಮಾತು ಅರ್ಥವಾಗುತ್ತಿಲ್ಲ. ದಯವಿಟ್ಟು ಕೀಪ್ಯಾಡ್ ಬಳಸಿ ಅಥವಾ ಸಂದೇಶ ಬರೆಯಿರಿ.',
    back: 'ಕ್ಷಮಿಸಿ, ಒಂದು ಕ್ಷಣ ಸಂಪರ್ಕ ಕಡಿತವಾಯಿತು.',
  },
  acknowledgements: 'ಹೌದು|ಹೂಂ|ಹಾ|ಸರಿ|ಓಕೆ|ಆಯ್ತು|ಆಯಿತು|ಅರ್ಥವಾಯಿತು|ಗೊತ್ತಾಯ್ತು|ಖಂಡಿತ|ಹ್ಮ್|ನಿಜ',
  symbols: { at: 'ಅಟ್', dot: 'ಡಾಟ್', dash: 'ಡ್ಯಾಶ್', underscore: 'ಅಂಡರ್‌ಸ್ಕೋರ್', slash: 'ಸ್ಲ್ಯಾಶ್', plus: 'ಪ್ಲಸ್' },
} satisfies LanguageTexts;

/** Gujarati: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const gu = {
  phrases: {
    hold: 'કૃપા કરીને એક ક્ષણ રાહ જુઓ.',
    transferring: 'હું હમણાં તમને જોડી આપું છું.',
    toolFiller: 'હું તપાસી લઉં છું.',
    trouble: 'માફ કરશો, એક સમસ્યા આવી. ફરીથી કહેશો?',
    apology: 'માફ કરશો, ટેકનિકલ સમસ્યા છે. કૃપા કરીને પછીથી ફોન કરો. આવજો.',
    goodbye: 'આવજો.',
    timeIsUp: 'આપણો સમય પૂરો થયો. આભાર, આવજો.',
    stillThere: 'શું તમે લાઇન પર છો?',
    cannotHear: 'માફ કરશો, આ લાઇન પર હું વાત સમજી શકતો નથી. કૃપા કરીને કીપેડ વાપરો અથવા સંદેશ લખો.',
    back: 'માફ કરશો, એક ક્ષણ માટે અવાજ કપાઈ ગયો.',
  },
  acknowledgements: 'હા|હાજી|જી|હા જી|સારું|ઠીક|ઠીક છે|બરાબર|અચ્છા|ઓકે|હમ્મ|સમજ્યો|સમજી ગયો|સમજી ગઈ|ચોક્કસ',
  symbols: { at: 'ઍટ', dot: 'ડૉટ', dash: 'ડૅશ', underscore: 'અન્ડરસ્કોર', slash: 'સ્લૅશ', plus: 'પ્લસ' },
} satisfies LanguageTexts;

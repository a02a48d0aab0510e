/** Latvian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const lv = {
  phrases: {
    hold: 'Vienu mirklīti, lūdzu.',
    transferring: 'Tūlīt jūs savienošu.',
    toolFiller: 'Tūlīt pārbaudīšu.',
    trouble: 'Atvainojiet, radās kļūda. Vai varat atkārtot?',
    apology: 'Atvainojiet, mums ir tehniskas problēmas. Lūdzu, zvaniet vēlāk. Uz redzēšanos.',
    goodbye: 'Uz redzēšanos.',
    timeIsUp: 'Mūsu laiks ir beidzies. Paldies, uz redzēšanos.',
    stillThere: 'Vai jūs vēl esat uz līnijas?',
    cannotHear:
      'Atvainojiet, šajā līnijā es nevaru saprast runu. Lūdzu, izmantojiet taustiņus vai uzrakstiet ziņu.',
    back: 'Atvainojiet, savienojums uz brīdi pārtrūka.',
  },
  acknowledgements: 'jā|aha|labi|ok|okei|skaidrs|saprotu|sapratu|pareizi|tieši tā|protams|mhm|mm|hm|ē|nu',
  symbols: {
    at: 'et',
    dot: 'punkts',
    dash: 'defise',
    underscore: 'pasvītra',
    slash: 'slīpsvītra',
    plus: 'plus',
  },
} satisfies LanguageTexts;

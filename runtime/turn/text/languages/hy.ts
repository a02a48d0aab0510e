/** Armenian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const hy = {
  phrases: {
    hold: 'Մեկ րոպե, խնդրում եմ։',
    transferring: 'Հիմա կմիացնեմ ձեզ։',
    toolFiller: 'Հիմա կստուգեմ։',
    trouble: 'Ներեցեք, խնդիր առաջացավ։ Կարո՞ղ եք կրկնել։',
    apology: 'Ներեցեք, տեխնիկական խնդիրներ ունենք։ Խնդրում եմ զանգահարեք ավելի ուշ։ Ցտեսություն։',
    goodbye: 'Ցտեսություն։',
    timeIsUp: 'Մեր ժամանակն ավարտվեց։ Շնորհակալություն, ցտեսություն։',
    stillThere: 'Դուք դեռ գծի վրա՞ եք։',
    cannotHear:
      'Ներեցեք, այս գծով խոսքը չեմ կարող հասկանալ։ Խնդրում եմ օգտագործեք ստեղները կամ գրեք ձեր ' +
      'հաղորդագրությունը։',
    back: 'Ներեցեք, կապը մի պահ ընդհատվեց։',
  },
  acknowledgements: 'այո|հա|լավ|հասկացա|պարզ է|ճիշտ է|ճիշտ|իհարկե|օքեյ|օկ|ահա|մմ|հմ',
  symbols: { at: 'էթ', dot: 'կետ', dash: 'գծիկ', underscore: 'ընդգծում', slash: 'թեք գիծ', plus: 'պլյուս' },
} satisfies LanguageTexts;

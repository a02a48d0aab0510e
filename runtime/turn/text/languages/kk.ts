/** Kazakh: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const kk = {
  phrases: {
    hold: 'Бір сәт күте тұрыңыз.',
    transferring: 'Қазір қосамын.',
    toolFiller: 'Қазір тексеріп көремін.',
    trouble: 'Кешіріңіз, қате шықты. Қайталап жібересіз бе?',
    apology: 'Кешіріңіз, бізде техникалық ақау бар. Кейінірек қоңырау шалыңыз. Сау болыңыз.',
    goodbye: 'Сау болыңыз.',
    timeIsUp: 'Уақытымыз аяқталды. Рақмет, сау болыңыз.',
    stillThere: 'Сіз әлі желідесіз бе?',
    cannotHear:
      'Кешіріңіз, бұл желіде сөзді түсіне алмаймын. Пернелерді пайдаланыңыз немесе хабарлама жазыңыз.',
    back: 'Кешіріңіз, байланыс бір сәтке үзілді.',
  },
  acknowledgements: 'иә|ия|жарайды|жақсы|дұрыс|түсінікті|түсіндім|әрине|ок|окей|мм|хм|аха|е',
  symbols: {
    at: 'айқұлақ',
    dot: 'нүкте',
    dash: 'сызықша',
    underscore: 'астын сызу',
    slash: 'қиғаш сызық',
    plus: 'плюс',
  },
} satisfies LanguageTexts;

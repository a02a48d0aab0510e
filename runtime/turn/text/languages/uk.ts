/** Ukrainian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const uk = {
  phrases: {
    hold: 'Хвилинку, будь ласка.',
    transferring: "Зараз я вас з'єднаю.",
    toolFiller: 'Зараз перевірю.',
    trouble: 'Вибачте, сталася помилка. Повторіть, будь ласка.',
    apology: 'Вибачте, у нас технічні негаразди. Будь ласка, зателефонуйте пізніше. До побачення.',
    goodbye: 'До побачення.',
    timeIsUp: 'Наш час вичерпано. Дякую, до побачення.',
    stillThere: 'Ви ще на лінії?',
    cannotHear:
      'Вибачте, я не можу розпізнати мовлення на цій лінії. Скористайтеся клавішами або напишіть ' +
      'повідомлення.',
    back: "Вибачте, зв'язок на секунду перервався.",
  },
  acknowledgements:
    'так|ага|угу|ок|окей|добре|гаразд|зрозуміло|зрозумів|зрозуміла|ясно|точно|звісно|мм|хм|ну|е',
  symbols: {
    at: 'равлик',
    dot: 'крапка',
    dash: 'дефіс',
    underscore: 'підкреслення',
    slash: 'скісна риска',
    plus: 'плюс',
  },
} satisfies LanguageTexts;

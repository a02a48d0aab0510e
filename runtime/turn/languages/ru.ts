/** Russian: what the agent says by itself, and how callers acknowledge. */
import type { LanguageTexts } from './language-texts.ts';

export const ru = {
  phrases: {
    hold: 'Одну минуту, пожалуйста.',
    transferring: 'Сейчас я вас соединю.',
    toolFiller: 'Сейчас проверю.',
    trouble: 'Извините, произошла ошибка. Повторите, пожалуйста.',
    apology: 'Извините, у нас технические неполадки. Пожалуйста, перезвоните позже. До свидания.',
    goodbye: 'До свидания.',
    timeIsUp: 'Наше время истекло. Спасибо, до свидания.',
    stillThere: 'Вы ещё на линии?',
    cannotHear: 'Извините, я не могу разобрать речь на этой линии. Воспользуйтесь клавишами или напишите сообщение.',
    back: 'Извините, связь на секунду прервалась.',
  },
  acknowledgements: 'да|ага|угу|ок|окей|хорошо|ладно|понятно|понял|поняла|ясно|так|точно|верно|конечно|мм|хм|э|эм|ну',
  symbols: { at: 'собака', dot: 'точка', dash: 'дефис', underscore: 'нижнее подчёркивание', slash: 'слэш', plus: 'плюс' },
} satisfies LanguageTexts;

/** Bulgarian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const bg = {
  phrases: {
    hold: 'Един момент, моля.',
    transferring: 'Сега ще ви свържа.',
    toolFiller: 'Нека проверя.',
    trouble: 'Извинете, възникна проблем. Бихте ли повторили?',
    apology: 'Съжалявам, имаме технически затруднения. Моля, обадете се по-късно. Довиждане.',
    goodbye: 'Довиждане.',
    timeIsUp: 'Времето ни изтече. Благодаря, довиждане.',
    stillThere: 'Още ли сте на линия?',
    cannotHear:
      'Съжалявам, не мога да разбера говор по тази линия. Моля, използвайте клавишите или напишете ' +
      'съобщение.',
    back: 'Извинете, връзката прекъсна за секунда.',
  },
  acknowledgements: 'да|аха|ъхъ|ок|окей|добре|хубаво|ясно|разбирам|разбрах|точно|така|вярно|мхм|хм|ъ|ами',
  symbols: {
    at: 'кльомба',
    dot: 'точка',
    dash: 'тире',
    underscore: 'долна черта',
    slash: 'наклонена черта',
    plus: 'плюс',
  },
} satisfies LanguageTexts;

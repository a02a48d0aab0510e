/** Korean: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const ko = {
  phrases: {
    hold: '잠시만 기다려 주세요.',
    transferring: '지금 연결해 드리겠습니다.',
    toolFiller: '확인해 보겠습니다.',
    trouble: '죄송합니다, 방금 문제가 있었습니다. 다시 한번 말씀해 주시겠어요?',
    apology: '죄송합니다, 기술적인 문제가 발생했습니다. 나중에 다시 전화해 주세요. 안녕히 계세요.',
    goodbye: '안녕히 계세요.',
    timeIsUp: '시간이 다 되었습니다. 감사합니다, 안녕히 계세요.',
    stillThere: '여보세요, 듣고 계신가요?',
    cannotHear:
      '죄송합니다, 이 회선에서는 음성을 알아들을 수 없습니다. 키패드를 사용하시거나 메시지를 입력해 주세요.',
    back: '죄송합니다, 잠시 끊겼습니다.',
  },
  acknowledgements:
    '네|네네|예|응|어|그래|그래요|그렇죠|그렇군요|맞아요|맞습니다|알겠습니다|알겠어요|좋아요|오케이|음|아|아하|저기',
  symbols: { at: '골뱅이', dot: '점', dash: '하이픈', underscore: '밑줄', slash: '슬래시', plus: '플러스' },
} satisfies LanguageTexts;

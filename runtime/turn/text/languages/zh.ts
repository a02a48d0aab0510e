/** Chinese: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const zh = {
  phrases: {
    hold: '请稍等。',
    transferring: '我现在为您转接。',
    toolFiller: '我帮您查一下。',
    trouble: '抱歉，刚才出了点问题。您能再说一遍吗？',
    apology: '很抱歉，我们遇到了技术问题，请稍后再来电。再见。',
    goodbye: '再见。',
    timeIsUp: '时间到了。谢谢您，再见。',
    stillThere: '您还在吗？',
    cannotHear: '抱歉，这条线路上我听不清语音。请使用按键或输入文字。',
    back: '抱歉，刚才信号断了一下。',
  },
  acknowledgements: '嗯|嗯嗯|对|对对|是|是的|好|好的|好吧|行|可以|明白|明白了|知道了|哦|噢|啊|呃|那个|ok',
  symbols: { at: '艾特', dot: '点', dash: '横杠', underscore: '下划线', slash: '斜杠', plus: '加' },
  consult: {
    introduction: '您好，我是{agent}。有一个来电找您，号码是{number}。',
    introductionWithoutNumber: '您好，我是{agent}。有一个来电找您。',
    question: '可以为您接通吗？请说可以或者不可以。',
    declined: '好的，谢谢，再见。',
    callerGone: '很抱歉，对方已经挂断了。再见。',
    yes: '可以|好|行|是|没问题|接进来|接过来|转过来|嗯',
    no: '不|没空|没时间|忙|稍后|晚点|以后再',
    voicemail: '请留言|提示音后|语音信箱|语音留言|无人接听|无法接听',
  },
} satisfies LanguageTexts;

/** Arabic: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const ar = {
  phrases: {
    hold: 'لحظة من فضلك.',
    transferring: 'سأحوّلك الآن.',
    toolFiller: 'دعني أتحقق من ذلك.',
    trouble: 'عذرًا، حدثت مشكلة. هل يمكنك إعادة ما قلته؟',
    apology: 'عذرًا، نواجه صعوبات تقنية. يرجى الاتصال لاحقًا. مع السلامة.',
    goodbye: 'مع السلامة.',
    timeIsUp: 'انتهى وقتنا. شكرًا لك، مع السلامة.',
    stillThere: 'هل ما زلت معي؟',
    cannotHear: 'عذرًا، لا أستطيع فهم الكلام على هذا الخط. يرجى استخدام لوحة المفاتيح أو كتابة رسالتك.',
    back: 'عذرًا، انقطع الصوت للحظة.',
  },
  acknowledgements:
    'نعم|أيوه|ايوه|أيوة|ايوة|إي|اي|طيب|تمام|حسنا|حسنًا|أوكي|اوكي|صحيح|أكيد|اكيد|فهمت|مم|' + 'آه|اه',
  symbols: {
    at: 'آت',
    dot: 'نقطة',
    dash: 'شرطة',
    underscore: 'شرطة سفلية',
    slash: 'شرطة مائلة',
    plus: 'زائد',
  },
  consult: {
    introduction: 'مرحبًا، معك {agent}. لديّ مكالمة لك من الرقم {number}.',
    introductionWithoutNumber: 'مرحبًا، معك {agent}. لديّ مكالمة لك.',
    question: 'هل أحوّل المكالمة إليك؟ يُرجى قول نعم أو لا.',
    declined: 'حسنًا. شكرًا، مع السلامة.',
    callerGone: 'عذرًا، أغلق المتصل الخط. مع السلامة.',
    yes: 'نعم|أجل|ايوه|أيوه|أيوة|تمام|طبعا|طبعًا|حسنا|حسنًا|تفضل|موافق|أكيد|اوكي',
    no: 'لا|كلا|ليس|لن|لست|مشغول|مشغولة|لاحقا|لاحقًا|بعدين',
    voicemail: 'اترك رسالة|اترك رسالتك|بعد الصافرة|بعد سماع الصافرة|البريد الصوتي',
  },
} satisfies LanguageTexts;

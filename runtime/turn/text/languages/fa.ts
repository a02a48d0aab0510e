/** Persian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const fa = {
  phrases: {
    hold: 'یک لحظه لطفاً.',
    transferring: 'الان شما را وصل می‌کنم.',
    toolFiller: 'اجازه بدهید بررسی کنم.',
    trouble: 'ببخشید، مشکلی پیش آمد. می‌شود دوباره بگویید؟',
    apology: 'متأسفم، دچار مشکل فنی شده‌ایم. لطفاً بعداً تماس بگیرید. خدانگهدار.',
    goodbye: 'خدانگهدار.',
    timeIsUp: 'وقت ما تمام شد. ممنون، خدانگهدار.',
    stillThere: 'هنوز پشت خط هستید؟',
    cannotHear:
      'متأسفم، روی این خط نمی‌توانم گفتار را بفهمم. لطفاً از صفحه‌کلید استفاده کنید یا پیام خود را بنویسید.',
    back: 'ببخشید، صدا یک لحظه قطع شد.',
  },
  acknowledgements:
    'بله|بلی|آره|اره|باشه|خب|خوب|اوکی|درسته|درست|حتما|حتماً|فهمیدم|متوجه شدم|آها|اها|هوم|اوهوم',
  symbols: { at: 'ات', dot: 'نقطه', dash: 'خط تیره', underscore: 'آندرلاین', slash: 'اسلش', plus: 'به‌علاوه' },
} satisfies LanguageTexts;

/** Vietnamese: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const vi = {
  phrases: {
    hold: 'Xin vui lòng chờ một chút.',
    transferring: 'Tôi sẽ nối máy cho quý khách ngay.',
    toolFiller: 'Để tôi kiểm tra.',
    trouble: 'Xin lỗi, vừa có sự cố. Quý khách vui lòng nói lại được không?',
    apology: 'Xin lỗi, chúng tôi đang gặp sự cố kỹ thuật. Quý khách vui lòng gọi lại sau. Xin chào tạm biệt.',
    goodbye: 'Xin chào tạm biệt.',
    timeIsUp: 'Đã hết thời gian. Cảm ơn quý khách, xin chào tạm biệt.',
    stillThere: 'Quý khách còn nghe máy không?',
    cannotHear:
      'Xin lỗi, tôi không nghe hiểu được giọng nói trên đường dây này. Vui lòng dùng bàn phím hoặc nhập ' +
      'tin nhắn.',
    back: 'Xin lỗi, đường truyền bị ngắt một chút.',
  },
  acknowledgements:
    'vâng|dạ|dạ vâng|ừ|ừm|ờ|đúng|đúng rồi|được|được rồi|ok|okay|ô kê|rồi|hiểu rồi|tôi hiểu|à|thế à',
  symbols: {
    at: 'a còng',
    dot: 'chấm',
    dash: 'gạch ngang',
    underscore: 'gạch dưới',
    slash: 'gạch chéo',
    plus: 'cộng',
  },
} satisfies LanguageTexts;

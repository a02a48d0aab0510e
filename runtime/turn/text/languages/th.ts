/** Thai: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const th = {
  phrases: {
    hold: 'กรุณารอสักครู่ค่ะ',
    transferring: 'ดิฉันจะโอนสายให้เดี๋ยวนี้ค่ะ',
    toolFiller: 'ขอตรวจสอบสักครู่นะคะ',
    trouble: 'ขออภัยค่ะ เมื่อสักครู่เกิดปัญหา รบกวนพูดอีกครั้งได้ไหมคะ',
    apology: 'ขออภัยค่ะ ระบบขัดข้องทางเทคนิค กรุณาโทรมาใหม่ภายหลัง สวัสดีค่ะ',
    goodbye: 'สวัสดีค่ะ',
    timeIsUp: 'หมดเวลาแล้วค่ะ ขอบคุณค่ะ สวัสดีค่ะ',
    stillThere: 'ยังอยู่ในสายไหมคะ',
    cannotHear: 'ขออภัยค่ะ สายนี้ไม่สามารถฟังเสียงพูดได้ กรุณากดปุ่มหรือพิมพ์ข้อความค่ะ',
    back: 'ขออภัยค่ะ สัญญาณขาดไปชั่วครู่',
  },
  acknowledgements: 'ครับ|ค่ะ|คะ|ใช่|ใช่ครับ|ใช่ค่ะ|อืม|อือ|เออ|โอเค|ได้|ดี|เข้าใจ|เข้าใจแล้ว|อ๋อ|จ้ะ|จ้า',
  symbols: { at: 'แอท', dot: 'ดอท', dash: 'ขีด', underscore: 'ขีดล่าง', slash: 'ทับ', plus: 'บวก' },
} satisfies LanguageTexts;

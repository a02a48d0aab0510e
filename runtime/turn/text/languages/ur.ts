/** Urdu: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const ur = {
  phrases: {
    hold: 'ایک لمحہ انتظار کیجیے۔',
    transferring: 'میں ابھی آپ کی بات کرواتا ہوں۔',
    toolFiller: 'میں ابھی دیکھتا ہوں۔',
    trouble: 'معذرت، ابھی کوئی مسئلہ ہوا۔ کیا آپ دوبارہ بتا سکتے ہیں؟',
    apology: 'معذرت، ہمیں تکنیکی مسئلہ درپیش ہے۔ براہ کرم بعد میں کال کیجیے۔ خدا حافظ۔',
    goodbye: 'خدا حافظ۔',
    timeIsUp: 'ہمارا وقت ختم ہو گیا۔ شکریہ، خدا حافظ۔',
    stillThere: 'کیا آپ لائن پر ہیں؟',
    cannotHear: 'معذرت، میں اس لائن پر آواز نہیں سمجھ پا رہا۔ براہ کرم کی پیڈ استعمال کیجیے یا پیغام لکھیے۔',
    back: 'معذرت، ایک لمحے کے لیے آواز کٹ گئی۔',
  },
  acknowledgements: 'ہاں|جی|جی ہاں|ہاں جی|ٹھیک|ٹھیک ہے|اچھا|صحیح|اوکے|ہمم|ہوں|سمجھ گیا|سمجھ گئی|بالکل',
  symbols: { at: 'ایٹ', dot: 'ڈاٹ', dash: 'ڈیش', underscore: 'انڈر اسکور', slash: 'سلیش', plus: 'پلس' },
} satisfies LanguageTexts;

/** Malay: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const ms = {
  phrases: {
    hold: 'Sila tunggu sebentar.',
    transferring: 'Saya sambungkan sekarang.',
    toolFiller: 'Biar saya semak dahulu.',
    trouble: 'Maaf, ada masalah tadi. Boleh ulang sekali lagi?',
    apology: 'Maaf, kami mengalami masalah teknikal. Sila telefon semula kemudian. Selamat tinggal.',
    goodbye: 'Selamat tinggal.',
    timeIsUp: 'Masa kita sudah tamat. Terima kasih, selamat tinggal.',
    stillThere: 'Adakah anda masih di talian?',
    cannotHear:
      'Maaf, saya tidak dapat memahami pertuturan di talian ini. Sila gunakan kekunci atau taip mesej anda.',
    back: 'Maaf, talian terputus sebentar.',
  },
  acknowledgements: 'ya|yah|ok|okay|okey|baik|baiklah|betul|boleh|faham|oh|hmm|mm|aha|eh',
  symbols: {
    at: 'alias',
    dot: 'titik',
    dash: 'sempang',
    underscore: 'garis bawah',
    slash: 'garis miring',
    plus: 'tambah',
  },
} satisfies LanguageTexts;

/** Indonesian: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const id = {
  phrases: {
    hold: 'Mohon tunggu sebentar.',
    transferring: 'Saya sambungkan sekarang.',
    toolFiller: 'Saya periksa dulu, ya.',
    trouble: 'Maaf, tadi ada gangguan. Bisa diulangi?',
    apology: 'Maaf, kami sedang mengalami gangguan teknis. Silakan telepon lagi nanti. Sampai jumpa.',
    goodbye: 'Sampai jumpa.',
    timeIsUp: 'Waktu kita sudah habis. Terima kasih, sampai jumpa.',
    stillThere: 'Apakah Anda masih di sana?',
    cannotHear:
      'Maaf, saya tidak dapat memahami suara di saluran ini. Silakan gunakan tombol telepon atau ketik ' +
      'pesan Anda.',
    back: 'Maaf, sambungannya terputus sebentar.',
  },
  acknowledgements:
    'ya|iya|yap|oke|ok|okay|baik|baiklah|betul|benar|oh|oh ya|he eh|hmm|mm|paham|mengerti|sip|eh|anu',
  symbols: {
    at: 'at',
    dot: 'titik',
    dash: 'strip',
    underscore: 'garis bawah',
    slash: 'garis miring',
    plus: 'plus',
  },
  consult: {
    introduction: 'Halo, ini {agent}. Ada telepon untuk Anda, dari nomor {number}.',
    introductionWithoutNumber: 'Halo, ini {agent}. Ada telepon untuk Anda.',
    question: 'Boleh saya sambungkan? Silakan jawab ya atau tidak.',
    declined: 'Baik. Terima kasih, sampai jumpa.',
    callerGone: 'Maaf, penelepon sudah menutup telepon. Sampai jumpa.',
    yes: 'ya|iya|boleh|silakan|oke|ok|baik|sambungkan',
    no: 'tidak|tak|enggak|nggak|gak|jangan|nanti|belum|sibuk',
    voicemail: 'tinggalkan pesan|setelah nada|kotak suara|pesan suara',
  },
} satisfies LanguageTexts;

/** Turkish: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const tr = {
  phrases: {
    hold: 'Bir dakika, lütfen.',
    transferring: 'Sizi şimdi bağlıyorum.',
    toolFiller: 'Hemen kontrol ediyorum.',
    trouble: 'Özür dilerim, bir sorun oldu. Tekrar eder misiniz?',
    apology: 'Özür dilerim, teknik bir sorun yaşıyoruz. Lütfen daha sonra tekrar arayın. Hoşça kalın.',
    goodbye: 'Hoşça kalın.',
    timeIsUp: 'Süremiz doldu. Teşekkürler, hoşça kalın.',
    stillThere: 'Hâlâ orada mısınız?',
    cannotHear:
      'Özür dilerim, bu hatta konuşmayı anlayamıyorum. Lütfen tuşları kullanın veya mesajınızı yazın.',
    back: 'Özür dilerim, sesiniz bir an kesildi.',
  },
  acknowledgements:
    'evet|hı hı|hıhı|tamam|peki|olur|tabii|tabi|doğru|anladım|aynen|hmm|ha|hah|ok|okey|iyi|şey|ee',
  symbols: {
    at: 'kuyruklu a',
    dot: 'nokta',
    dash: 'tire',
    underscore: 'alt çizgi',
    slash: 'eğik çizgi',
    plus: 'artı',
  },
} satisfies LanguageTexts;

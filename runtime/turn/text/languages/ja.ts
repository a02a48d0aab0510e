/** Japanese: the agent's fixed lines, and the words that show a caller is listening. */
import type { LanguageTexts } from './language-texts.ts';

export const ja = {
  phrases: {
    hold: '少々お待ちください。',
    transferring: '担当者におつなぎします。',
    toolFiller: 'お調べしますので、少々お待ちください。',
    trouble: '申し訳ございません、うまく処理できませんでした。もう一度おっしゃっていただけますか？',
    apology: '申し訳ございません、技術的な問題が発生しております。後ほどおかけ直しください。失礼いたします。',
    goodbye: 'それでは、失礼いたします。',
    timeIsUp: 'お時間となりました。ありがとうございました。失礼いたします。',
    stillThere: 'もしもし、お聞きになっていますか？',
    cannotHear:
      '申し訳ございません、この回線では音声を認識できません。キーパッドまたは文字でご入力ください。',
    back: '失礼しました、少し途切れてしまいました。',
  },
  acknowledgements:
    'はい|ええ|うん|そう|そうです|そうですね|そうですか|なるほど|了解|了解です|わかりました|分かりました|へえ|ふん|ふーん|ああ|オッケー|あの|えっと|えーと',
  symbols: {
    at: 'アットマーク',
    dot: 'ドット',
    dash: 'ハイフン',
    underscore: 'アンダーバー',
    slash: 'スラッシュ',
    plus: 'プラス',
  },
  consult: {
    introduction: '{agent}と申します。{number}の番号からお電話が入っております。',
    introductionWithoutNumber: '{agent}と申します。お電話が入っております。',
    question: 'おつなぎしてもよろしいでしょうか？「はい」か「いいえ」でお答えください。',
    declined: '承知いたしました。ありがとうございました。失礼いたします。',
    callerGone: '申し訳ございません、お電話が切れてしまいました。失礼いたします。',
    yes: 'はい|ええ|うん|どうぞ|大丈夫です|いいですよ|つないで|繋いで|お願いします|わかりました|分かりました|オッケー',
    no: 'いいえ|いえ|ううん|だめ|駄目|できません|出られません|無理|後で|あとで|忙し|結構です|手が離せ',
    voicemail: 'メッセージをどうぞ|メッセージをお|発信音|留守番電話|ピーという音',
  },
} satisfies LanguageTexts;

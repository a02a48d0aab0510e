/** Japanese: what the agent says by itself, and how callers acknowledge. */
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
    cannotHear: '申し訳ございません、この回線では音声を認識できません。キーパッドまたは文字でご入力ください。',
    back: '失礼しました、少し途切れてしまいました。',
  },
  acknowledgements:
    'はい|ええ|うん|そう|そうです|そうですね|そうですか|なるほど|了解|了解です|わかりました|分かりました|へえ|ふん|ふーん|ああ|オッケー|あの|えっと|えーと',
  symbols: { at: 'アットマーク', dot: 'ドット', dash: 'ハイフン', underscore: 'アンダーバー', slash: 'スラッシュ', plus: 'プラス' },
} satisfies LanguageTexts;

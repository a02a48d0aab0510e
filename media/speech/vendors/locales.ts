/** The locale that a speech vendor gets for a language which an agent speaks. */

const LOCALES: Readonly<Record<string, string>> = {
  en: 'en-US',
  ja: 'ja-JP',
  zh: 'zh-CN',
  ko: 'ko-KR',
  pt: 'pt-BR',
  ar: 'ar-EG',
  hi: 'hi-IN',
  sr: 'sr-RS',
  cs: 'cs-CZ',
  uk: 'uk-UA',
  el: 'el-GR',
  sv: 'sv-SE',
  da: 'da-DK',
  no: 'nb-NO',
  et: 'et-EE',
  ca: 'ca-ES',
  he: 'he-IL',
  fa: 'fa-IR',
  ur: 'ur-IN',
  kk: 'kk-KZ',
  ka: 'ka-GE',
  hy: 'hy-AM',
  bn: 'bn-IN',
  ta: 'ta-IN',
  te: 'te-IN',
  kn: 'kn-IN',
  mr: 'mr-IN',
  gu: 'gu-IN',
  pa: 'pa-IN',
  ne: 'ne-NP',
  vi: 'vi-VN',
  ms: 'ms-MY',
  tl: 'fil-PH',
  af: 'af-ZA',
};

/** A BCP 47 tag with a region, from a language of ISO 639-1: usually the country of the same name. */
export function localeOf(language: string): string {
  return LOCALES[language] ?? `${language}-${language.toUpperCase()}`;
}

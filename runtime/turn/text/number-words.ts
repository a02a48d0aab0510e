/**
 * Numbers as words (n2words), for voices that cannot read numerals. English is missing because every voice
 * reads English numerals.
 */
import { toCardinal as ar } from 'n2words/ar-SA';
import { toCardinal as bn } from 'n2words/bn-BD';
import { toCardinal as cs } from 'n2words/cs-CZ';
import { toCardinal as da } from 'n2words/da-DK';
import { toCardinal as de } from 'n2words/de-DE';
import { toCardinal as el } from 'n2words/el-GR';
import { toCardinal as en } from 'n2words/en-US';
import { toCardinal as es } from 'n2words/es-ES';
import { toCardinal as fa } from 'n2words/fa-IR';
import { toCardinal as fi } from 'n2words/fi-FI';
import { toCardinal as tl } from 'n2words/fil-PH';
import { toCardinal as frBelgian } from 'n2words/fr-BE';
import { toCardinal as fr } from 'n2words/fr-FR';
import { toCardinal as gu } from 'n2words/gu-IN';
import { toCardinal as he } from 'n2words/he-IL';
import { toCardinal as hi } from 'n2words/hi-IN';
import { toCardinal as hr } from 'n2words/hr-HR';
import { toCardinal as hu } from 'n2words/hu-HU';
import { toCardinal as id } from 'n2words/id-ID';
import { toCardinal as it } from 'n2words/it-IT';
import { toCardinal as ja } from 'n2words/ja-JP';
import { toCardinal as ka } from 'n2words/ka-GE';
import { toCardinal as kn } from 'n2words/kn-IN';
import { toCardinal as ko } from 'n2words/ko-KR';
import { toCardinal as lt } from 'n2words/lt-LT';
import { toCardinal as lv } from 'n2words/lv-LV';
import { toCardinal as mr } from 'n2words/mr-IN';
import { toCardinal as ms } from 'n2words/ms-MY';
import { toCardinal as no } from 'n2words/nb-NO';
import { toCardinal as nl } from 'n2words/nl-NL';
import { toCardinal as pa } from 'n2words/pa-IN';
import { toCardinal as pl } from 'n2words/pl-PL';
import { toCardinal as pt } from 'n2words/pt-PT';
import { toCardinal as ro } from 'n2words/ro-RO';
import { toCardinal as ru } from 'n2words/ru-RU';
import { toCardinal as sr } from 'n2words/sr-Latn-RS';
import { toCardinal as sv } from 'n2words/sv-SE';
import { toCardinal as ta } from 'n2words/ta-IN';
import { toCardinal as te } from 'n2words/te-IN';
import { toCardinal as th } from 'n2words/th-TH';
import { toCardinal as tr } from 'n2words/tr-TR';
import { toCardinal as uk } from 'n2words/uk-UA';
import { toCardinal as ur } from 'n2words/ur-PK';
import { toCardinal as vi } from 'n2words/vi-VN';
import { toCardinal as zh } from 'n2words/zh-Hans-CN';
import { memoised } from '#base/memoised.ts';

const CARDINALS: Readonly<Record<string, (value: string) => string>> = {
  ar,
  bn,
  cs,
  da,
  de,
  el,
  es,
  fa,
  fi,
  fr,
  gu,
  he,
  hi,
  hr,
  hu,
  id,
  it,
  ja,
  ka,
  kn,
  ko,
  lt,
  lv,
  mr,
  ms,
  nl,
  no,
  pa,
  pl,
  pt,
  ro,
  ru,
  sr,
  sv,
  ta,
  te,
  th,
  tl,
  tr,
  uk,
  ur,
  vi,
  zh,
};

/** All usual words of a whole number, also in English and in Belgian French; empty for other languages. */
export function cardinalWords(value: number, language: string): readonly string[] {
  const written = String(value);
  if (language === 'en') return [en(written)];
  const words = numberWords(written, language);
  if (words === null) return [];
  return language === 'fr' ? [words, frBelgian(written)] : [words];
}

/** The words of a number, `value` with a decimal point; null for languages without number words. */
export function numberWords(value: string, language: string): string | null {
  return Object.hasOwn(CARDINALS, language) ? (CARDINALS[language]?.(value) ?? null) : null;
}

/**
 * The value of a written number, as digits with a decimal point. The language decides which of `.` and `,`
 * groups and which starts the fraction.
 */
export function numberValue(written: string, language: string): string {
  const digits = written.replace(/[\s'’]/g, '');
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  if (last === -1) return digits;
  const mark = digits.charAt(last);
  const hasBoth = digits.includes('.') && digits.includes(',');
  const isGroup =
    digits.indexOf(mark) !== last || (!hasBoth && mark === groupMark(language) && digits.length - last === 4);
  const fraction = isGroup ? '' : digits.slice(last + 1);
  const whole = (isGroup ? digits : digits.slice(0, last)).replace(/[.,]/g, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** True where numbers are grouped by spaces: 1 375,50. */
export function groupsBySpaces(language: string): boolean {
  return /\s/.test(groupMark(language));
}

const groupMark = memoised((language: string): string => {
  const parts = new Intl.NumberFormat(language, { numberingSystem: 'latn' }).formatToParts(1_234_567);
  return parts.find(({ type }) => type === 'group')?.value ?? '';
});

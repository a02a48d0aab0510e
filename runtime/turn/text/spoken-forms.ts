/**
 * Reads out written forms that are not plain words. Addresses, phone numbers and codes are spelled out for
 * every voice, because voices rush through them; dates, times, money, units and abbreviations only for voices
 * that need words. Names of currencies, units and months come from the platform (Intl).
 */
import { groupsBySpaces, numberValue, numberWords } from './number-words.ts';
import { abbreviationsFor, symbolsFor } from './phrases.ts';

/** The voice that reads the text. */
export interface Reading {
  readonly language: string;
  /** The voice reads plain words and English numerals only. */
  readonly needsWords: boolean;
}

/** A range of text from `start`, read as `spoken`. */
export interface SpokenForm {
  readonly end: number;
  readonly spoken: string;
}

interface Rule {
  readonly pattern: RegExp;
  /** Null: the match is not this form after all. */
  readonly read: (match: RegExpExecArray, reading: Reading) => string | null;
}

/** Only closing punctuation may follow before the next space. */
const ENDS = String.raw`(?=[.,!?;:…"')\]”’»]*(?:\s|$))`;
const NUMBER = String.raw`\d{1,3}(?:[.,'’]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?`;
const SPACED_NUMBER = String.raw`\d{1,3}(?: \d{3})+(?:[.,]\d+)?|${NUMBER}`;

const CURRENCIES: Readonly<Record<string, string>> = {
  $: 'USD',
  '€': 'EUR',
  '£': 'GBP',
  '¥': 'JPY',
  '₹': 'INR',
  '₩': 'KRW',
  '₽': 'RUB',
  '₺': 'TRY',
  '₴': 'UAH',
  '₪': 'ILS',
  zł: 'PLN',
  Kč: 'CZK',
  US$: 'USD',
  R$: 'BRL',
};
const CODES =
  'USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|INR|CNY|KRW|BRL|MXN|RUB|TRY|UAH|ILS|PLN|CZK|HUF|RON|BGN|SEK|NOK|DKK|' +
  'ZAR|SGD|HKD|THB|VND|IDR|MYR|PHP|AED|SAR';
const SIGNS = Object.keys(CURRENCIES)
  .sort((a, b) => b.length - a.length)
  .map((sign) => sign.replace('$', String.raw`\$`))
  .join('|');

/** Written units and their Intl names. */
const UNITS: Readonly<Record<string, string>> = {
  km: 'kilometer',
  m: 'meter',
  cm: 'centimeter',
  mm: 'millimeter',
  mi: 'mile',
  ft: 'foot',
  kg: 'kilogram',
  g: 'gram',
  lb: 'pound',
  lbs: 'pound',
  oz: 'ounce',
  l: 'liter',
  L: 'liter',
  ml: 'milliliter',
  h: 'hour',
  hr: 'hour',
  hrs: 'hour',
  min: 'minute',
  sec: 'second',
  ms: 'millisecond',
  kB: 'kilobyte',
  KB: 'kilobyte',
  MB: 'megabyte',
  GB: 'gigabyte',
  TB: 'terabyte',
  'km/h': 'kilometer-per-hour',
  'm/s': 'meter-per-second',
  mph: 'mile-per-hour',
  '°C': 'celsius',
  '°F': 'fahrenheit',
  '%': 'percent',
};
const UNIT_SIGNS = Object.keys(UNITS)
  .sort((a, b) => b.length - a.length)
  .join('|');

/** Top-level domains that mark an address without `www.` or a scheme. */
const ZONES =
  'com|org|net|edu|gov|io|ai|co|app|dev|info|biz|eu|de|at|ch|fr|es|it|nl|be|pt|br|pl|cz|se|no|dk|fi|uk|us|' +
  'ca|au|in|jp|kr|cn|mx|ru|tr';

const FOR_EVERY_VOICE: readonly Rule[] = [
  rule(String.raw`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`, ([address], reading) => spokenAddress(address, reading)),
  rule(
    String.raw`(?:https?:\/\/|(?=www\.))(\S*[\w/])`,
    ([, address = ''], reading) => spokenAddress(address.replace(/\/$/, ''), reading),
    'iy',
  ),
  rule(String.raw`[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.(?:${ZONES})(?:\/\S*[\w/])?`, ([address], reading) =>
    spokenAddress(address.replace(/\/$/, ''), reading),
  ),
  rule(String.raw`\+\d{1,3}(?:[ .()/-]{0,2}\d){6,14}`, ([number], reading) => spokenGroups(number, reading)),
  rule(String.raw`\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}`, ([number], reading) => spokenGroups(number, reading)),
  rule(String.raw`\+?\d(?:-?\d){4,}`, ([number], reading) =>
    isDateOrRange(number) ? null : spokenGroups(number, reading),
  ),
  rule('[A-Z0-9]+(?:-[A-Z0-9]+)*', ([code], reading) => (isCode(code) ? spokenGroups(code, reading) : null)),
];

const FOR_PLAIN_VOICES: readonly Rule[] = [
  rule(String.raw`(\d{4})-(\d{2})-(\d{2})`, ([, year, month, day], reading) =>
    spokenDate([year, month, day], reading),
  ),
  rule(String.raw`(\d{1,2})\.(\d{1,2})\.(\d{4})`, ([, day, month, year], reading) =>
    spokenDate([year, month, day], reading),
  ),
  rule(String.raw`(\d{1,2})\/(\d{1,2})\/(\d{4})`, ([, first, second, year], reading) =>
    spokenDate(reading.language === 'en' ? [year, first, second] : [year, second, first], reading),
  ),
  rule(
    String.raw`(${SIGNS}|${CODES}) ?(${SPACED_NUMBER})( \p{L}*illi\p{L}+)?`,
    ([, sign, number, scale], reading) => spokenMoney({ sign, number, scale }, reading),
  ),
  rule(
    String.raw`(${SPACED_NUMBER})( \p{L}*illi\p{L}+)? ?(${SIGNS}|${CODES})`,
    ([, number, scale, sign], reading) => spokenMoney({ sign, number, scale }, reading),
  ),
  rule(`(-?)(${SPACED_NUMBER}) ?(${UNIT_SIGNS})`, ([, minus, number = '', sign = ''], reading) =>
    spokenUnit(`${minus}${number}`, UNITS[sign] ?? '', reading),
  ),
  rule(String.raw`(\d{1,2})[:.](\d{2})`, ([, hour = '', minute = ''], reading) =>
    spokenTime(hour, minute, reading),
  ),
  rule(`-?(?:${SPACED_NUMBER})`, ([number], reading) => spokenNumber(number, reading)),
];

/** The form that begins at `start`, a word boundary; null for plain words. */
export function spokenForm(text: string, start: number, reading: Reading): SpokenForm | null {
  for (const { pattern, read } of reading.needsWords
    ? [...FOR_EVERY_VOICE, ...FOR_PLAIN_VOICES]
    : FOR_EVERY_VOICE) {
    pattern.lastIndex = start;
    const match = pattern.exec(text);
    const spoken = match === null ? null : read(match, reading);
    if (match !== null && spoken !== null) return { end: start + match[0].length, spoken };
  }
  return reading.needsWords ? abbreviation(text, start, reading) : null;
}

function rule(source: string, read: Rule['read'], flags = 'uy'): Rule {
  return { pattern: new RegExp(`(?:${source})${ENDS}`, flags.includes('u') ? flags : `${flags}u`), read };
}

function abbreviation(text: string, start: number, { language }: Reading): SpokenForm | null {
  const word = /^\S+/.exec(text.slice(start))?.[0] ?? '';
  for (const written of [word, word.replace(/(?<![,;:!?)"'])[,;:!?)"']+$/, '')]) {
    const spoken = abbreviationsFor(language).get(written);
    // "No." is a number sign only before a number: "No. 5", but "No. Really."
    if (
      spoken !== undefined &&
      (!/^(No|Nr|N)\.$/.test(written) || /^ ?\d/.test(text.slice(start + written.length)))
    )
      return { end: start + written.length, spoken };
  }
  return null;
}

function spokenAddress(address: string, { language }: Reading): string {
  const names = symbolsFor(language);
  const spoken: Readonly<Record<string, string>> = {
    '@': names.at,
    '.': names.dot,
    '-': names.dash,
    _: names.underscore,
    '/': names.slash,
    '+': names.plus,
  };
  return address
    .replace(/[@._/+-]/g, (sign) => ` ${spoken[sign]} `)
    .replace(/\s+/g, ' ')
    .trim();
}

/** Character by character, with a pause between groups; long groups are split. */
function spokenGroups(written: string, reading: Reading): string {
  const plus = written.startsWith('+') ? `${symbolsFor(reading.language).plus} ` : '';
  const groups = written.split(/[^A-Z0-9]+/).filter((group) => group !== '');
  return (
    plus +
    groups
      .flatMap(split)
      .map((group) => [...group].map((character) => spokenCharacter(character, reading)).join(' '))
      .join(', ')
  );
}

/** Up to five characters stay together; longer groups are cut into threes, the last into three or four. */
function split(group: string): string[] {
  if (group.length <= 5) return [group];
  const parts: string[] = [];
  let rest = group;
  for (; rest.length > 4; rest = rest.slice(3)) parts.push(rest.slice(0, 3));
  return [...parts, rest];
}

function spokenCharacter(character: string, { language, needsWords }: Reading): string {
  return needsWords && /\d/.test(character) ? (numberWords(character, language) ?? character) : character;
}

function isDateOrRange(number: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$|^\d{4}-\d{4}$/.test(number);
}

/**
 * At least five letters and digits, mixed; not an amount with its unit, nor a word followed by a number
 * (COVID-19).
 */
function isCode(code: string): boolean {
  const characters = code.replaceAll('-', '');
  return (
    characters.length >= 5 &&
    /\d/.test(code) &&
    /[A-Z]/.test(code) &&
    !/[A-Z]{5}/.test(code) &&
    !/^\d+[A-Z]{1,3}$/.test(code)
  );
}

function spokenDate([year, month, day]: readonly (string | undefined)[], reading: Reading): string | null {
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return null;
  return dateFormat(reading.language)
    .format(date)
    .replace(/\d+/g, (number) => spokenNumber(number, reading) ?? number);
}

function spokenTime(hour: string, minute: string, reading: Reading): string | null {
  // English voices read clock times themselves.
  if (reading.language === 'en' || Number(hour) > 23 || Number(minute) > 59) return null;
  const words = [hour, ...(Number(minute) === 0 ? [] : [minute])].map((part) =>
    numberWords(String(Number(part)), reading.language),
  );
  return words.includes(null) ? null : words.join(' ');
}

/** 12,50 EUR is "12 euros 50": most languages read amounts this way, and it needs no name for the cents. */
function spokenMoney(
  {
    sign = '',
    number = '',
    scale = '',
  }: { sign?: string | undefined; number?: string | undefined; scale?: string | undefined },
  reading: Reading,
): string {
  const { language } = reading;
  const currency = CURRENCIES[sign] ?? sign;
  const [whole = '0', fraction = ''] = numberValue(number, language).split('.');
  const isSplit = scale === '' && fraction !== '';
  const amount = isSplit || /^0*$/.test(fraction) ? whole : `${whole}.${fraction}`;
  const named = inWords(
    currencyFormat(language, currency),
    { value: scale === '' ? whole : '1000000', written: `${amount}${scale}` },
    reading,
  );
  return isSplit && !/^0*$/.test(fraction)
    ? `${named} ${readNumber(fraction.padEnd(2, '0'), reading)}`
    : named;
}

function spokenUnit(number: string, unit: string, reading: Reading): string {
  const value = numberValue(number, reading.language);
  return inWords(unitFormat(reading.language, unit), { value, written: value }, reading);
}

/**
 * Cached by language and name, both from fixed tables: creating a format takes longer than spelling out a
 * sentence.
 */
const NUMBER_FORMATS = new Map<string, Intl.NumberFormat>();
const DATE_FORMATS = new Map<string, Intl.DateTimeFormat>();

function currencyFormat(language: string, currency: string): Intl.NumberFormat {
  return kept(NUMBER_FORMATS, `${language} ${currency}`, () => {
    const style = { style: 'currency', currency, currencyDisplay: 'name', maximumFractionDigits: 0 } as const;
    return new Intl.NumberFormat(language, { ...style, numberingSystem: 'latn' });
  });
}

function unitFormat(language: string, unit: string): Intl.NumberFormat {
  return kept(NUMBER_FORMATS, `${language} ${unit}`, () => {
    const style = { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: 20 } as const;
    return new Intl.NumberFormat(language, { ...style, numberingSystem: 'latn' });
  });
}

function dateFormat(language: string): Intl.DateTimeFormat {
  return kept(
    DATE_FORMATS,
    language,
    () =>
      new Intl.DateTimeFormat(language, {
        dateStyle: 'long',
        timeZone: 'UTC',
        numberingSystem: 'latn',
        calendar: 'gregory',
      }),
  );
}

function kept<Format>(formats: Map<string, Format>, key: string, make: () => Format): Format {
  const format = formats.get(key) ?? make();
  formats.set(key, format);
  return format;
}

/** The platform's formatting, with the number as it is read. */
function inWords(
  format: Intl.NumberFormat,
  { value, written }: { value: string; written: string },
  reading: Reading,
): string {
  const [, digits = '', scale = ''] = /^([\d.-]+)(.*)$/s.exec(written) ?? [];
  const parts = format.formatToParts(Number(value));
  const first = parts.findIndex(({ type }) => NUMERIC.has(type));
  return parts
    .flatMap((part, index) =>
      index === first
        ? [`${readNumber(digits, reading)}${scale}`]
        : NUMERIC.has(part.type)
          ? []
          : [part.value],
    )
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
}

const NUMERIC = new Set(['minusSign', 'integer', 'group', 'decimal', 'fraction']);

function readNumber(value: string, { language }: Reading): string {
  return language === 'en' ? value : (numberWords(value, language) ?? value);
}

/** English voices read numerals themselves; codes of five digits and more were handled before. */
function spokenNumber(number: string, { language }: Reading): string | null {
  if (language === 'en' || (number.includes(' ') && !groupsBySpaces(language))) return null;
  return numberWords(numberValue(number, language), language);
}

/** The texts of every language an agent can speak, by its code. */
import { memoised } from '#base/memoised.ts';
import type { SPEAKING_LANGUAGES } from '#config/languages.ts';
import { af } from './languages/af.ts';
import { ar } from './languages/ar.ts';
import { bg } from './languages/bg.ts';
import { bn } from './languages/bn.ts';
import { ca } from './languages/ca.ts';
import { cs } from './languages/cs.ts';
import { da } from './languages/da.ts';
import { de } from './languages/de.ts';
import { el } from './languages/el.ts';
import { en } from './languages/en.ts';
import { es } from './languages/es.ts';
import { et } from './languages/et.ts';
import { fa } from './languages/fa.ts';
import { fi } from './languages/fi.ts';
import { fr } from './languages/fr.ts';
import { gu } from './languages/gu.ts';
import { he } from './languages/he.ts';
import { hi } from './languages/hi.ts';
import { hr } from './languages/hr.ts';
import { hu } from './languages/hu.ts';
import { hy } from './languages/hy.ts';
import { id } from './languages/id.ts';
import { it } from './languages/it.ts';
import { ja } from './languages/ja.ts';
import { ka } from './languages/ka.ts';
import { kk } from './languages/kk.ts';
import { kn } from './languages/kn.ts';
import { ko } from './languages/ko.ts';
import type {
  ConsultTexts,
  LanguageTexts,
  ListeningTexts,
  Phrases,
  PressingTexts,
  QuestionTexts,
  SymbolNames,
} from './languages/language-texts.ts';
import { lt } from './languages/lt.ts';
import { lv } from './languages/lv.ts';
import { mr } from './languages/mr.ts';
import { ms } from './languages/ms.ts';
import { ne } from './languages/ne.ts';
import { nl } from './languages/nl.ts';
import { no } from './languages/no.ts';
import { pa } from './languages/pa.ts';
import { pl } from './languages/pl.ts';
import { pt } from './languages/pt.ts';
import { ro } from './languages/ro.ts';
import { ru } from './languages/ru.ts';
import { sk } from './languages/sk.ts';
import { sr } from './languages/sr.ts';
import { sv } from './languages/sv.ts';
import { ta } from './languages/ta.ts';
import { te } from './languages/te.ts';
import { th } from './languages/th.ts';
import { tl } from './languages/tl.ts';
import { tr } from './languages/tr.ts';
import { uk } from './languages/uk.ts';
import { ur } from './languages/ur.ts';
import { vi } from './languages/vi.ts';
import { zh } from './languages/zh.ts';
import { normalised } from './normalised.ts';

export type { Phrases };

const TEXTS: Readonly<Record<(typeof SPEAKING_LANGUAGES)[number], LanguageTexts>> = {
  en,
  ja,
  zh,
  ko,
  es,
  fr,
  de,
  pt,
  it,
  nl,
  ar,
  hi,
  id,
  tr,
  ru,
  bg,
  sr,
  hr,
  cs,
  sk,
  pl,
  uk,
  ro,
  hu,
  el,
  sv,
  da,
  no,
  fi,
  et,
  lv,
  lt,
  ca,
  he,
  fa,
  ur,
  kk,
  ka,
  hy,
  bn,
  ta,
  te,
  kn,
  mr,
  gu,
  pa,
  ne,
  th,
  vi,
  ms,
  tl,
  af,
};

/** The fixed lines for a language code. */
export function phrasesFor(language: string): Phrases {
  return textsFor(language).phrases;
}

/** How signs are read out. */
export function symbolsFor(language: string): SymbolNames {
  return textsFor(language).symbols;
}

/** Words and set phrases that only show that a caller is listening, longest first. */
export const acknowledgementsFor = memoised((language: string): readonly string[] =>
  textsFor(language)
    .acknowledgements.split('|')
    .map(normalised)
    .sort((a, b) => b.length - a.length),
);

/** Parts of longer acknowledgements; null for a language without them. */
export function listeningTextsFor(language: string): ListeningTexts | null {
  return textsFor(language).listening ?? null;
}

/** How abbreviations are read aloud, by their spelling. */
export const abbreviationsFor = memoised((language: string): ReadonlyMap<string, string> => {
  const pairs = (textsFor(language).abbreviations ?? '').split('|').map((pair): [string, string] => {
    const [written = '', read = ''] = pair.split('=');
    return [written, read];
  });
  return new Map(pairs.filter(([written]) => written !== ''));
});

/** Texts for the person a caller is transferred to, and the words of their answers. */
export function consultTextsFor(language: string): ConsultTexts {
  return textsFor(language).consult ?? en.consult;
}

/** Phrases that show which answer a question expects; null for a language without them or an unknown code. */
export function questionTextsFor(language: string): QuestionTexts | null {
  return Object.hasOwn(TEXTS, language) ? (textsFor(language).questions ?? null) : null;
}

/** How the agent says that it presses keys; null for a language without words for it or an unknown code. */
export function pressingTextsFor(language: string): PressingTexts | null {
  return Object.hasOwn(TEXTS, language) ? (textsFor(language).pressing ?? null) : null;
}

/** An unknown language code falls back to English. */
function textsFor(language: string): LanguageTexts {
  return Object.hasOwn(TEXTS, language) ? TEXTS[language as keyof typeof TEXTS] : en;
}

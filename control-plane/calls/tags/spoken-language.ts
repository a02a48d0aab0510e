/**
 * Tells in which language one side of a call spoke, from the words of its transcript: by the script where it
 * is not Latin, otherwise by function words of a few languages that are not words of the others. Says nothing
 * where that is not certain: what some recognisers say of the language is not stored with the words.
 */
import { countsOf, wordsOf } from './words.ts';

/** Letters of a script that tell, and their least share of all letters. */
const FEWEST_LETTERS = 40;
const LEAST_SHARE = 0.8;
/** Function words that tell, and how many times more than those of the next language. */
const FEWEST_WORDS = 6;
const TIMES_MORE = 3;
/** Characters of one side that are looked at. */
const MOST_CHARS = 20_000;

const SCRIPTS: Readonly<Record<string, RegExp>> = {
  Latin: /\p{Script=Latin}/gu,
  Cyrillic: /\p{Script=Cyrillic}/gu,
  Greek: /\p{Script=Greek}/gu,
  Arabic: /\p{Script=Arabic}/gu,
  Hebrew: /\p{Script=Hebrew}/gu,
  Devanagari: /\p{Script=Devanagari}/gu,
  Bengali: /\p{Script=Bengali}/gu,
  Tamil: /\p{Script=Tamil}/gu,
  Telugu: /\p{Script=Telugu}/gu,
  Thai: /\p{Script=Thai}/gu,
  Georgian: /\p{Script=Georgian}/gu,
  Armenian: /\p{Script=Armenian}/gu,
  Hangul: /\p{Script=Hangul}/gu,
  // Japanese has both, in a mixture of its own.
  'Han or Kana': /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu,
};

/** Without accents, as `wordsOf` writes them; none is a common word of another language here. */
const FUNCTION_WORDS: Readonly<Record<string, readonly string[]>> = {
  en: 'the and you that it have this with what would my your are please not because about'.split(' '),
  de: 'ich und ist nicht sie mit ein eine haben mir wir auf bitte aber auch fur einen noch'.split(' '),
  es: 'el las pero muy usted tengo gracias quiero hay esta puedo cuando donde ustedes muchas'.split(' '),
  fr: 'vous et est nous pour avec bonjour merci jai cest une dans suis voudrais oui sil'.split(' '),
  it: 'il che sono gli della perche grazie vorrei anche questo ho piu buongiorno quello'.split(' '),
  pt: 'nao voce obrigado uma eu com isso muito tenho meu minha bom gostaria tambem'.split(' '),
  nl: 'ik het een niet van dat wij heb voor maar ook mijn naar graag zijn kunt'.split(' '),
};

/**
 * The language (`en`) or the script (`Cyrillic`) of these lines; null if there is too little to tell. Linear
 * time, in at most 20,000 characters.
 */
export function spokenLanguage(lines: readonly string[]): string | null {
  const text = lines.join(' ').slice(0, MOST_CHARS);
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  if (letters === 0) return null;
  const scripts = Object.entries(SCRIPTS).map(([name, pattern]) => ({
    name,
    count: text.match(pattern)?.length ?? 0,
  }));
  const main = scripts.reduce((most, script) => (script.count > most.count ? script : most));
  if (main.count < letters * LEAST_SHARE) return null;
  if (main.name !== 'Latin') return main.count >= FEWEST_LETTERS ? main.name : null;
  return latinLanguage(lines);
}

function latinLanguage(lines: readonly string[]): string | null {
  const spoken: string[] = [];
  let left = MOST_CHARS;
  for (const line of lines) {
    if (left <= 0) break;
    left -= line.length;
    spoken.push(...wordsOf(line));
  }
  const counts = countsOf(spoken);
  const found = Object.entries(FUNCTION_WORDS)
    .map(([language, words]) => ({
      language,
      count: words.reduce((sum, word) => sum + (counts.get(word) ?? 0), 0),
    }))
    .sort((a, b) => b.count - a.count);
  const [first, second] = found;
  if (!first || first.count < FEWEST_WORDS) return null;
  return first.count >= TIMES_MORE * (second?.count ?? 0) ? first.language : null;
}

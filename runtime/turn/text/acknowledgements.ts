/**
 * Words that only show that a caller is listening: "mhm", "okay, sure", "oh, that's really nice, thank you".
 * A grammar of small sets of words, one for each language. An acknowledgement consists of units, with
 * courtesies beside them:
 *
 *     unit = word or set phrase | hum | laughter | [opening] degree* quality
 *
 * Whatever has other words is none. Linear in the words, of which it reads 24 at most.
 */
import { memoised } from '#base/memoised.ts';
import { phrasesOf, UNSPACED } from './made-of-phrases.ts';
import { normalised } from './normalised.ts';
import { acknowledgementsFor, listeningTextsFor } from './phrases.ts';

/** `open`: more words could make it an acknowledgement; `other`: it has other words. */
type Acknowledged = 'whole' | 'open' | 'other';

/** A caller who says more wants the floor. */
const MOST_CHARS = 200;
const MOST_WORDS = 24;

/** Recognisers write sounds in brackets: "[laughter]". */
const BRACKETED = /[[(*]([\p{L} ]{3,16})[\])*]/gu;
const SOUNDS = new Set(
  (
    'laugh|laughs|laughing|laughter|chuckle|chuckles|chuckling|giggle|giggles|giggling|cough|coughs|' +
    'coughing|sigh|sighs|sighing|breath|breathing|sniff|sniffs|sneezes|noise|background noise|lachen|' +
    'lacht|gelächter|husten|hustet|rire|rires|rit|toux|risa|risas|ríe|tos|risata|risate|ride|riso|risos|' +
    'tosse|gelach|hoesten'
  ).split('|'),
);
/** "Mm", "mhm", "mm-hmm"; "mm-mm" is a no. */
const HUM = /^[hm]+(?:-h[hm]*)*$/;
const LAUGHTER = /^(?:a?(?:ha){2,}h?|ah(?:ah)+|(?:he){2,}|(?:hi){2,}|(?:ho){2,}|(?:ja){2,}|(?:je){2,})$/;

/** Role of a phrase in an acknowledgement. */
type Part = 'unit' | 'opening' | 'degree' | 'quality' | 'courtesy';

/** Phrases by their words. */
interface Words {
  readonly next: Map<string, Words>;
  readonly are: Set<Part>;
}

/** Where a reading may stand between two words; the flags of several readings are added. */
const BEGUN = 1;
const HAS_UNIT = 2;
/** In a judgement, before its quality. */
const JUDGING = 4;

/** Characters that the normalised words do not show, or not as the grammar has them. */
const UNUSUAL = /[’[(*]/;

/** Reads the words of a caller over the agent; `usual` is the same, normalised. */
export function readAcknowledgement(
  text: string,
  language: string,
  usual: string = normalised(text),
): Acknowledged {
  if (text.length > MOST_CHARS) return 'other';
  const said = UNUSUAL.test(text) ? normalised(withSounds(text.replaceAll('’', "'"))) : usual;
  const words = said.split(' ');
  if (said === '' || words.length > MOST_WORDS) return 'other';
  const read = readWords(words, grammarOf(language));
  return read === 'other' && isOfUnspaced(said, language) ? 'whole' : read;
}

/** Sounds in brackets count as a hum. */
function withSounds(text: string): string {
  return text.replace(BRACKETED, (whole, name: string) => (SOUNDS.has(name.toLowerCase()) ? ' hm ' : whole));
}

function readWords(words: readonly string[], grammar: Words): Acknowledged {
  // Before each word, and after the last: where a reading may stand there; 0 if none gets so far.
  const reached = new Uint8Array(words.length + 1);
  reached[0] = BEGUN;
  let isOpen = false;
  for (const [at, word] of words.entries()) {
    const from = reached[at] ?? 0;
    if ((from & ~JUDGING) !== 0 && isSound(word)) reach(reached, at + 1, HAS_UNIT);
    if (from !== 0 && readPhrases(words, at, { grammar, reached })) isOpen = true;
  }
  const last = reached[words.length] ?? 0;
  if ((last & HAS_UNIT) !== 0) return 'whole';
  return isOpen || last !== 0 ? 'open' : 'other';
}

/** Marks where the phrases that begin at a word end; true if a longer one could. */
function readPhrases(
  words: readonly string[],
  from: number,
  { grammar, reached }: { readonly grammar: Words; readonly reached: Uint8Array },
): boolean {
  const flags = reached[from] ?? 0;
  let node: Words | undefined = grammar;
  for (let end = from; end < words.length; end++) {
    node = following(node, words[end] ?? '');
    if (node === undefined) return false;
    reach(reached, end + 1, after(node.are, flags));
  }
  return node.next.size > 0;
}

function reach(reached: Uint8Array, at: number, flags: number): void {
  reached[at] = (reached[at] ?? 0) | flags;
}

/** The flags behind a phrase that begins at `from`. */
function after(parts: ReadonlySet<Part>, from: number): number {
  let flags = 0;
  if (parts.has('quality')) flags |= HAS_UNIT;
  if (parts.has('degree')) flags |= JUDGING;
  if ((from & ~JUDGING) === 0) return flags;
  if (parts.has('unit')) flags |= HAS_UNIT;
  if (parts.has('opening')) flags |= JUDGING;
  if (parts.has('courtesy')) flags |= from & ~JUDGING;
  return flags;
}

function isSound(word: string): boolean {
  return (word.length > 1 && word.includes('m') && HUM.test(word)) || LAUGHTER.test(word);
}

/** Drawn out words count as usual ones: "okaaay". */
function following({ next }: Words, word: string): Words | undefined {
  const found = next.get(word);
  if (found !== undefined) return found;
  const short = withRuns(word, 2);
  return short === word ? undefined : (next.get(short) ?? next.get(withRuns(word, 1)));
}

/** The word with at most so many equal letters in a row. */
function withRuns(word: string, most: number): string {
  let kept = '';
  let last = '';
  let run = 0;
  for (const letter of word) {
    run = letter === last ? run + 1 : 1;
    last = letter;
    if (run <= most) kept += letter;
  }
  return kept;
}

const grammarOf = memoised((language: string): Words => {
  const grammar: Words = { next: new Map(), are: new Set() };
  const { courtesies = '', degrees = '', openings = '', qualities = '' } = listeningTextsFor(language) ?? {};
  const parts: readonly (readonly [Part, readonly string[]])[] = [
    ['unit', acknowledgementsFor(language)],
    ['opening', openings.split('|')],
    ['degree', degrees.split('|')],
    ['quality', qualities.split('|')],
    ['courtesy', courtesies.split('|')],
  ];
  for (const [part, phrases] of parts) for (const phrase of phrases) addPhrase(grammar, phrase, part);
  return grammar;
});

function addPhrase(grammar: Words, phrase: string, part: Part): void {
  if (phrase === '') return;
  let node = grammar;
  for (const word of normalised(phrase.replaceAll('’', "'")).split(' ')) {
    const next: Words = node.next.get(word) ?? { next: new Map(), are: new Set() };
    node.next.set(word, next);
    node = next;
  }
  node.are.add(part);
}

/** True in scripts without spaces between words, if the words are acknowledgements only. */
function isOfUnspaced(said: string, language: string): boolean {
  const phrases = acknowledgementsFor(language);
  return phrases.some((phrase) => UNSPACED.test(phrase)) && phrasesOf(said, phrases) !== null;
}

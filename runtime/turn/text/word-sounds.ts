/**
 * The expected sounds of a word, with a length for each in letters. Distinguishes only vowels, hisses, stops
 * and the like: crude for any one language, but good enough for all alphabetic ones, which spell these kinds
 * alike nearly everywhere. Pure.
 */

/**
 * Kinds of sounds, distinguished by loudness, hiss and preceding silence; `other`: unknown from the spelling.
 */
export type SoundKind = 'vowel' | 'liquid' | 'hiss' | 'breath' | 'stop' | 'voicedStop' | 'other';

/** One sound; `letters` is its length relative to an average letter. */
export interface Sound {
  readonly kind: SoundKind;
  readonly letters: number;
}

/**
 * One group for each kind below, in the same order. Digraphs come first: two letters for one sound take no
 * longer than one.
 */
const SOUND =
  /(sch?h|ch|tch|ti(?=o)|ss|zz|ci(?=[ao])|c(?=[eiy])|[szxjß])|(th|ph|ff|[fvh])|(ck|pp|tt|cc|kk|[ptkcq])|(bb|dd|gg|[bdg])|(wh|ll|mm|nn|rr|[lmnrw])|(\p{Script=Latin})|(\p{N})|([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])|(\p{L})/giu;
const KINDS: readonly Sound[] = [
  { kind: 'hiss', letters: 1.5 },
  { kind: 'breath', letters: 1 },
  { kind: 'stop', letters: 1 },
  { kind: 'voicedStop', letters: 0.95 },
  { kind: 'liquid', letters: 0.95 },
  { kind: 'vowel', letters: 1.1 },
  // A digit is a short word.
  { kind: 'other', letters: 4.3 },
  // A syllable of a script without letters.
  { kind: 'other', letters: 3 },
  { kind: 'other', letters: 1.05 },
];
/** Time of a word besides its letters. */
const LETTERS_OF_WORD = 0.6;
/** Extra length of a word before punctuation, in letters. */
const LETTERS_OF_MARK = 1.8;
const MARK = /[,;:.!?](?=\s|$)/;

/** The sounds of one word as given to a voice; a single unknown sound for a word without letters. */
export function soundsOf(said: string): Sound[] {
  const sounds: Sound[] = [];
  for (const match of said.normalize('NFD').matchAll(SOUND)) {
    const sound = KINDS.find((_, index) => match[index + 1] !== undefined);
    if (sound) sounds.push(sound);
  }
  const [first, ...rest] = sounds;
  if (!first) return [{ kind: 'other', letters: LETTERS_OF_WORD }];
  const whole = [lengthened(first, LETTERS_OF_WORD), ...rest];
  const last = whole.at(-1);
  return last && MARK.test(said) ? [...whole.slice(0, -1), lengthened(last, LETTERS_OF_MARK)] : whole;
}

function lengthened({ kind, letters }: Sound, by: number): Sound {
  return { kind, letters: letters + by };
}

/**
 * What a word sounds like to an ear that tells only vowels, hisses, stops and the like: its sounds in order,
 * each with the time it takes in letters. Crude for any one language, and good enough for all that are
 * written in letters, as these few kinds are spelled alike nearly everywhere. Pure.
 */

/**
 * Sounds that are told apart by their loudness, their hiss, and the silence before them; `other`: not told
 * from its spelling.
 */
export type SoundKind = 'vowel' | 'liquid' | 'hiss' | 'breath' | 'stop' | 'voicedStop' | 'other';

/** One sound; `letters` is its length, that of an average letter being 1. */
export interface Sound {
  readonly kind: SoundKind;
  readonly letters: number;
}

/**
 * One group for each of the kinds below, in their order. Letters that are one sound together come first: two
 * take no longer than one.
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
  // A syllable of a script that has no letters.
  { kind: 'other', letters: 3 },
  { kind: 'other', letters: 1.05 },
];
/** What every word takes beside its letters. */
const LETTERS_OF_WORD = 0.6;
/** A word before a mark is drawn out by so many letters. */
const LETTERS_OF_MARK = 1.8;
const MARK = /[,;:.!?](?=\s|$)/;

/** The sounds of one word as it is given to a voice; one that cannot be told for a word without letters. */
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

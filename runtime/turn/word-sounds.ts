/**
 * What a word sounds like to an ear that tells only vowels, hisses, stops and the like: its sounds in order, each with the time it takes in letters.
 * Crude for any one language, and good enough for all that are written in letters, as these few kinds are spelled alike nearly everywhere. Pure.
 */

/** Sounds that are told apart by their loudness, their hiss, and the silence before them; `other`: not told from its spelling. */
export type SoundKind = 'vowel' | 'liquid' | 'hiss' | 'breath' | 'stop' | 'voicedStop' | 'other';

/** One sound; `letters` is its length, that of an average letter being 1. */
export interface Sound {
  readonly kind: SoundKind;
  readonly letters: number;
}

/** Letters that are one sound together come first: two take no longer than one. */
const SOUND =
  /(?<hiss>sch?h|ch|tch|ti(?=o)|ss|zz|ci(?=[ao])|c(?=[eiy])|[szxjß])|(?<breath>th|ph|ff|[fvh])|(?<stop>ck|pp|tt|cc|kk|[ptkcq])|(?<voicedStop>bb|dd|gg|[bdg])|(?<liquid>wh|ll|mm|nn|rr|[lmnrw])|(?<vowel>\p{Script=Latin})|(?<digit>\p{N})|(?<syllable>[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])|(?<other>\p{L})/giu;
const KINDS: Readonly<Record<string, Sound>> = {
  hiss: { kind: 'hiss', letters: 1.5 },
  breath: { kind: 'breath', letters: 1 },
  stop: { kind: 'stop', letters: 1 },
  voicedStop: { kind: 'voicedStop', letters: 0.95 },
  liquid: { kind: 'liquid', letters: 0.95 },
  vowel: { kind: 'vowel', letters: 1.1 },
  // A digit is a short word.
  digit: { kind: 'other', letters: 4.3 },
  syllable: { kind: 'other', letters: 3 },
  other: { kind: 'other', letters: 1.05 },
};
/** What every word takes beside its letters. */
const LETTERS_OF_WORD = 0.6;
/** A word before a mark is drawn out by so many letters. */
const LETTERS_OF_MARK = 1.8;
const MARK = /[,;:.!?](?=\s|$)/;

/** The sounds of one word as it is given to a voice; one that cannot be told for a word without letters. */
export function soundsOf(said: string): Sound[] {
  const sounds = [...said.normalize('NFD').matchAll(SOUND)].flatMap(({ groups = {} }) => {
    const name = Object.keys(KINDS).find((kind) => groups[kind] !== undefined);
    return name === undefined ? [] : [KINDS[name] as Sound];
  });
  const [first, ...rest] = sounds;
  if (!first) return [{ kind: 'other', letters: LETTERS_OF_WORD }];
  const whole = [lengthened(first, LETTERS_OF_WORD), ...rest];
  const last = whole.at(-1);
  return last && MARK.test(said) ? [...whole.slice(0, -1), lengthened(last, LETTERS_OF_MARK)] : whole;
}

function lengthened({ kind, letters }: Sound, by: number): Sound {
  return { kind, letters: letters + by };
}

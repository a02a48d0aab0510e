/**
 * What is said to a person before a caller is connected, and what their words say to it. Languages without
 * texts of their own get English.
 */
import { consultTextsFor } from '../turn/text/phrases.ts';

/** The lines and words of one language. */
export interface ConsultPhrases {
  /** Before the notes. `{agent}` and `{number}` are filled in. */
  readonly introduction: string;
  /** The same for a caller who withholds the number. */
  readonly introductionWithoutNumber: string;
  readonly question: string;
  readonly declined: string;
  readonly callerGone: string;
  readonly yes: readonly string[];
  readonly no: readonly string[];
  /** What only a machine says. */
  readonly voicemail: readonly string[];
}

/** Writing that leaves no space between its words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** The phrases for a language code. */
export function consultPhrases(language: string): ConsultPhrases {
  const { no, voicemail, yes, ...lines } = consultTextsFor(language);
  return { ...lines, yes: yes.split('|'), no: no.split('|'), voicemail: voicemail.split('|') };
}

/**
 * What a person's words say to being connected. A refusal outweighs a yes in the same breath: "yes, but not
 * now".
 */
export function consultAnswer(
  text: string,
  { yes, no, voicemail }: ConsultPhrases,
): 'yes' | 'no' | 'voicemail' | 'unclear' {
  const words = ` ${text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[^\p{L}\p{M}\p{N}'-]+/gu, ' ')
    .trim()} `;
  const unspaced = words.replaceAll(' ', '');
  const isSaid = (phrase: string) =>
    UNSPACED.test(phrase) ? unspaced.includes(phrase) : words.includes(` ${phrase} `);
  const says = (phrases: readonly string[]) => phrases.some((phrase) => isSaid(phrase.normalize('NFC')));
  if (says(voicemail)) return 'voicemail';
  if (says(no)) return 'no';
  return says(yes) ? 'yes' : 'unclear';
}

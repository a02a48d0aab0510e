/**
 * What the agent says to a person before connecting a caller, and how their answer is understood. Languages
 * without texts of their own use English.
 */
import { consultTextsFor } from '../turn/text/phrases.ts';

/** The lines and keywords of one language. */
export interface ConsultPhrases {
  /** Spoken before the notes. `{agent}` and `{number}` are filled in. */
  readonly introduction: string;
  /** The same for a caller with a withheld number. */
  readonly introductionWithoutNumber: string;
  readonly question: string;
  readonly declined: string;
  readonly callerGone: string;
  readonly yes: readonly string[];
  readonly no: readonly string[];
  /** Phrases that only a machine says. */
  readonly voicemail: readonly string[];
}

/** Scripts without spaces between words. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** The phrases for a language code. */
export function consultPhrases(language: string): ConsultPhrases {
  const { no, voicemail, yes, ...lines } = consultTextsFor(language);
  return { ...lines, yes: yes.split('|'), no: no.split('|'), voicemail: voicemail.split('|') };
}

/**
 * Whether the person agrees to be connected. A refusal outweighs a yes in the same sentence: "yes, but not
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

/** How well the caller's words fit what the agent asked for, and words that any answer may have around it. */
import type { QuestionTexts } from '../../text/languages/language-texts.ts';

/** The caller's words against what was expected. */
export interface Fit {
  /** Share of callers who say more after such words; null: more must follow. */
  readonly goesOn: number | null;
  /** For the record: "expected 10 digits, has 6". */
  readonly note: string;
}

/** Share of callers who go on after any words that look finished. */
export const USUALLY_GOES_ON = 0.2;

/**
 * The same after an answer that was asked for, cautious estimates: a whole number is hardly ever continued.
 * "Yes" and "yes, please" are not such answers: they may announce one.
 */
export const GOES_ON = {
  number: 0.02,
  /** "That's correct", and "no" where more help is offered. */
  yesOrNo: 0.04,
  /** An address after which no country follows. */
  closedEmail: 0.04,
  email: 0.08,
  spelled: 0.04,
  date: 0.04,
  option: 0.04,
  /** A town may have more words. */
  address: 0.04,
  /** Many callers say street and number, and wait to be asked for the town. */
  streetOnly: 0.5,
  /** One word of a full name: some callers have no other, or give no other. */
  oneName: 0.5,
} as const;

/** Of those who close their answer with "please" or "thank you", so many times fewer go on. */
const ROUNDED_OFF = 0.5;

/** An answer that closes with a courtesy is less likely to go on. */
export function roundedOff(fit: Fit | null, tokens: readonly string[], texts: QuestionTexts): Fit | null {
  const goesOn = fit?.goesOn ?? null;
  if (fit === null || goesOn === null || goesOn >= USUALLY_GOES_ON) return fit;
  const isRounded = withoutCourtesy(tokens, texts).length < tokens.length;
  return isRounded ? { ...fit, goesOn: goesOn * ROUNDED_OFF } : fit;
}

/** Words of a short answer with those around it: "I think the window, please". */
export const SHORT_ANSWER_WORDS = 5;

/** The words without "please" and "thank you" at their end. */
export function withoutCourtesy(tokens: readonly string[], texts: QuestionTexts): readonly string[] {
  const courtesies = texts.courtesy.split('|').map((phrase) => phrase.split(' '));
  let end = tokens.length;
  for (;;) {
    const courtesy = courtesies.find((words) =>
      words.every((word, index) => tokens[end - words.length + index] === word),
    );
    if (courtesy === undefined) return tokens.slice(0, end);
    end -= courtesy.length;
  }
}

/** Words that callers say before what they were asked for: "my number is". */
export function announcesAnswer(words: readonly string[], texts: QuestionTexts): boolean {
  const before = ` ${words.join(' ')} `;
  return words.length === 0 || texts.begins.split('|').some((phrase) => before.endsWith(` ${phrase} `));
}

/**
 * Contents of a language file: one file per speaking language, so that adding or correcting one touches
 * nothing else.
 */

/** The texts of one language. */
export interface LanguageTexts {
  readonly phrases: Phrases;
  /** Words that show a caller is listening, and sounds of hesitation; separated by `|`. */
  readonly acknowledgements: string;
  /** Words that make longer acknowledgements; without them only those above are known. */
  readonly listening?: ListeningTexts;
  readonly symbols: SymbolNames;
  /**
   * Abbreviations and how to read them, `z.B.=zum Beispiel`; separated by `|`. For voices that need words.
   */
  readonly abbreviations?: string;
  /** Texts for the person a caller is transferred to; English if missing. */
  readonly consult?: ConsultTexts;
  /** Phrases that show which answer a question expects; without them the agent expects none. */
  readonly questions?: QuestionTexts;
  /** How the agent says that it presses keys; without them no such claim is noticed. */
  readonly pressing?: PressingTexts;
}

/**
 * How the agent says that it presses keys, now, soon or already. Phrases are separated by `|`; `…` stands for
 * up to five words.
 */
export interface PressingTexts {
  /** These say so by themselves: "I pressed". */
  readonly always: string;
  /** These do with a key: "I entered", "pressing". */
  readonly withKey: string;
  /** Words for keys, besides digits. */
  readonly keys: string;
  /** Words near a phrase with which it says that no key was pressed: "not". */
  readonly denials: string;
}

/**
 * Parts of acknowledgements, separated by `|`: a judgement is an opening, degrees and a quality ("that's",
 * "really", "good"), of which only the quality is needed. Words of a denial or a contradiction belong to none
 * of them.
 */
export interface ListeningTexts {
  readonly openings: string;
  readonly degrees: string;
  readonly qualities: string;
  /** Beside an acknowledgement; alone it is none: "thank you". */
  readonly courtesies: string;
}

/**
 * Words by which a question shows what answer it expects, and short answers. Phrases are separated by `|`,
 * and match whole words. Lengths of numbers are the numbers of digits that may be complete.
 */
export interface QuestionTexts {
  /** A bare yes, which may be continued. */
  readonly yes: string;
  /** Confirms, and says all: "correct". */
  readonly surely: string;
  readonly no: string;
  /** Ends an answer: "that's all". */
  readonly closing: string;
  /** Belongs to any answer: "please". */
  readonly courtesy: string;
  /** A question with one of these wants more than yes or no: "what", "tell me". */
  readonly open: string;
  /** Offers more help: "anything else". Its yes is always continued, its no hardly ever. */
  readonly offers: string;
  /** Between the last two options. */
  readonly or: string;
  /** Asks for something without a question mark: "please". */
  readonly requests: string;
  readonly phone: string;
  /** By the first digits, `07=11`; the longest beginning applies. */
  readonly phoneLengths: string;
  /** Other numbers and their lengths: `zip code=5`. */
  readonly numbers: string;
  /** Follows the length of a code: "four digits". */
  readonly digits: string;
  readonly email: string;
  readonly postal: PostalTexts;
  readonly spelling: string;
  readonly fullName: string;
  readonly birth: string;
  /** More than one of these: "two phone numbers". */
  readonly several: string;
  /** Between two things that are asked for: "and". */
  readonly joins: string;
  /** Asks for a part of a thing, or about it, or to wait: "the rest of your number", "what year". */
  readonly about: string;
  /** An option that is followed by what it names: "a policy number". */
  readonly announces: string;
  /** Words of a caller who does not answer, corrects, or denies: "pardon", "not". */
  readonly otherwise: string;
  /** Before the thing in a question without a verb: "and your". */
  readonly leads: string;
  /** Callers say these before a number that they were asked for: "my number is". */
  readonly begins: string;
  /** Between a spelled letter and its example: "as in". */
  readonly asIn: string;
}

/** How postal addresses are asked for and said. Lists are separated by `|`. */
export interface PostalTexts {
  /** Names of an address in a question. */
  readonly names: string;
  /** Words that are or end the name of a street; those that end a longer word begin with `-`. */
  readonly streets: string;
  /** Digits of postcodes that the town follows, and of those that end an address; empty if there are none. */
  readonly beforeTown: readonly number[];
  readonly atEnd: readonly number[];
  /** First words of towns that have more words: "Bad", "San". */
  readonly townBegins: string;
}

/** Lines and keywords of the consultation before a warm transfer. Keywords are separated by `|`. */
export interface ConsultTexts {
  /**
   * Spoken before the notes, unless the destination has instructions of its own. `{agent}` and `{number}` are
   * filled in.
   */
  readonly introduction: string;
  /** The same for a caller with a withheld number. */
  readonly introductionWithoutNumber: string;
  readonly question: string;
  readonly declined: string;
  readonly callerGone: string;
  readonly yes: string;
  readonly no: string;
  /** Phrases that only a machine says. */
  readonly voicemail: string;
}

/** The agent's fixed lines, spoken without the model. */
export interface Phrases {
  /** While the caller waits for the model. */
  readonly hold: string;
  /** Before a transfer, if the model gave no words of its own. */
  readonly transferring: string;
  /** While a tool takes longer than a moment. */
  readonly toolFiller: string;
  /** A generation failed; the call continues. */
  readonly trouble: string;
  /** The model failed for good; the call ends. */
  readonly apology: string;
  readonly goodbye: string;
  readonly timeIsUp: string;
  readonly stillThere: string;
  /** Speech cannot be transcribed on this call. */
  readonly cannotHear: string;
  /** Another worker took the call over, and recent words are lost. */
  readonly back: string;
}

/** How the signs in addresses and numbers are read aloud. */
export interface SymbolNames {
  readonly at: string;
  readonly dot: string;
  readonly dash: string;
  readonly underscore: string;
  readonly slash: string;
  readonly plus: string;
}

/**
 * What a language's file gives: one file per language an agent can speak, so that adding or mending one
 * touches nothing else.
 */

/** The texts of one language. */
export interface LanguageTexts {
  readonly phrases: Phrases;
  /** What callers say to show that they listen, and the sounds of somebody thinking; separated by `|`. */
  readonly acknowledgements: string;
  readonly symbols: SymbolNames;
  /**
   * Written abbreviations and how they are read, `z.B.=zum Beispiel`; separated by `|`. For voices that need
   * words.
   */
  readonly abbreviations?: string;
  /** What is said to a person a caller is to be handed to; English where it is missing. */
  readonly consult?: ConsultTexts;
}

/**
 * The lines and words of a private word with a person before a caller is connected. Words are separated by
 * `|`.
 */
export interface ConsultTexts {
  /**
   * Before the notes, unless the destination's own instructions replace it. `{agent}` and `{number}` are
   * filled in.
   */
  readonly introduction: string;
  /** The same for a caller who withholds the number. */
  readonly introductionWithoutNumber: string;
  readonly question: string;
  readonly declined: string;
  readonly callerGone: string;
  readonly yes: string;
  readonly no: string;
  /** What only a machine says. */
  readonly voicemail: string;
}

/** What the agent says by itself, without its model. */
export interface Phrases {
  /** While a model keeps the caller waiting. */
  readonly hold: string;
  /** Before the caller is handed to a person, where the model gave no words of its own. */
  readonly transferring: string;
  /** While a tool runs longer than a moment. */
  readonly toolFiller: string;
  /** A generation failed; the call goes on. */
  readonly trouble: string;
  /** The model failed for good; the call ends. */
  readonly apology: string;
  readonly goodbye: string;
  readonly timeIsUp: string;
  readonly stillThere: string;
  /** Speech cannot be understood on this call. */
  readonly cannotHear: string;
  /** Another worker has taken the call over, and what was said meanwhile is lost. */
  readonly back: string;
}

/** How the signs of addresses and numbers are read out. */
export interface SymbolNames {
  readonly at: string;
  readonly dot: string;
  readonly dash: string;
  readonly underscore: string;
  readonly slash: string;
  readonly plus: string;
}

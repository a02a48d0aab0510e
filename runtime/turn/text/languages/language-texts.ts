/**
 * Contents of a language file: one file per speaking language, so that adding or correcting one touches
 * nothing else.
 */

/** The texts of one language. */
export interface LanguageTexts {
  readonly phrases: Phrases;
  /** Words that show a caller is listening, and sounds of hesitation; separated by `|`. */
  readonly acknowledgements: string;
  readonly symbols: SymbolNames;
  /**
   * Abbreviations and how to read them, `z.B.=zum Beispiel`; separated by `|`. For voices that need words.
   */
  readonly abbreviations?: string;
  /** Texts for the person a caller is transferred to; English if missing. */
  readonly consult?: ConsultTexts;
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

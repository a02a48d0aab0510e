/** One line of the corpus of what answers an outgoing call. */
import type { Automated, SpokenAs } from '#runtime/turn/text/line-words.ts';

/** A stretch of words as a recogniser hears it, and what it must be taken for. */
export interface Line {
  readonly is: SpokenAs;
  readonly language: 'en' | 'de' | 'fr' | 'es' | 'it' | 'pt';
  /**
   * What the line was taken for before: on hold, long words without a sign of a person may be an
   * advertisement.
   */
  readonly after?: Automated;
  readonly text: string;
}

type Row = readonly [is: Line['is'], text: string, after?: Line['after']];

/** Lines of one language. */
export function linesIn(language: Line['language'], rows: readonly Row[]): Line[] {
  return rows.map(([is, text, after]) => ({ is, language, text, ...(after ? { after } : {}) }));
}

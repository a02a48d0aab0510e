/** The lines of a corpus beside the kinds that they were taken for. */
import { isMailbox } from '#runtime/turn/machine/opening/answering-machine.ts';
import { lineWords, type SpokenAs } from '#runtime/turn/text/line-words.ts';
import type { Line } from './line.ts';

const CLASSES: readonly SpokenAs[] = ['person', 'menu', 'hold', 'screening', 'machine', 'unknown'];

/** The kind that the product takes a line for. */
export function takenFor({ after, text }: Line): SpokenAs {
  return lineWords(text, {
    isMailbox: isMailbox(text),
    isAutomated: after !== undefined,
    isPerson: false,
  }).is;
}

/** The lines that were taken for something else. */
export function mistaken(lines: readonly Line[]): readonly (Line & { readonly taken: SpokenAs })[] {
  return lines.map((line) => ({ ...line, taken: takenFor(line) })).filter(({ is, taken }) => is !== taken);
}

/** A Markdown table: rows are what the lines are, columns what they were taken for. */
export function tableOf(lines: readonly Line[]): string {
  const rows = CLASSES.map((is) => {
    const of = lines.filter((line) => line.is === is).map(takenFor);
    const counts = CLASSES.map((taken) => of.filter((each) => each === taken).length || '');
    return `| ${is} | ${of.length} | ${counts.join(' | ')} |`;
  });
  return [
    `| The line is | Lines | ${CLASSES.map((taken) => `taken for ${taken}`).join(' | ')} |`,
    `|---|---|${'---|'.repeat(CLASSES.length)}`,
    ...rows,
  ].join('\n');
}

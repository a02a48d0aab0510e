/**
 * `npm run bench:lines`: the kinds that words and sounds of far ends are taken for. Writes the tables into
 * docs/automated-lines.md and lists every line that was mistaken.
 */
import { putBetween } from '#scripts/put-between.ts';
import { CORPUS } from './corpus.ts';
import { HELD_BACK } from './held-back.ts';
import { PUBLISHED, UNSEEN } from './published.ts';
import { detectorCost, soundsTable } from './sounds-table.ts';
import { mistaken, tableOf } from './table.ts';

/** A figure of the past: that of the published prompts before any rule was written for them. */
const UNEXTENDED = 'Before the rules were extended by them it was 14 of 28.';
const right = (lines: typeof CORPUS) => `${lines.length - mistaken(lines).length} of ${lines.length}`;

const page = [
  `Lines that the rules were written with: ${right(CORPUS)} are taken for what they are.`,
  tableOf(CORPUS),
  `Lines that the same hand wrote before the rules, and held back from them: ${right(HELD_BACK)}.`,
  tableOf(HELD_BACK),
  `Prompts that others published: ${right(PUBLISHED)}. ${UNEXTENDED}`,
  tableOf(PUBLISHED),
  `A second collection of such prompts, for which no rule was changed: ${right(UNSEEN)}.`,
  tableOf(UNSEEN),
  'Ten seconds of sound each, through G.711 with some noise, to the detector of music:',
  soundsTable(),
  `The detector takes ${detectorCost()} µs for a frame of 20 ms.`,
].join('\n\n');
putBetween('docs/automated-lines.md', '<!-- lines:begin -->', '<!-- lines:end -->', page);
console.log(page);
for (const { is, language, taken, text } of mistaken([...CORPUS, ...HELD_BACK, ...PUBLISHED, ...UNSEEN]))
  console.log(`${language}: ${is}, taken for ${taken}: ${text}`);

/**
 * Splits the text of a knowledge source into the chunks that are counted, searched and given to the model.
 * Pure and linear in the text's length; shared, so that the API counts what a call searches.
 */

import { runAtOnce } from '#base/run-steps.ts';

/** Longest chunk, characters: a few paragraphs, so that the best three leave room in a prompt. */
export const CHUNK_CHARS = 1_200;

/** Of one step: characters, and the cost of a block or a line in characters. */
const STEP_WORK = 16_384;
const BLOCK_WORK = 20;

interface Block {
  readonly text: string;
  readonly isHeading: boolean;
}

/**
 * The chunks of a text, in order, each at most `CHUNK_CHARS` long. A Markdown heading starts a new chunk and
 * stays with the text after it. Paragraphs stay whole if they fit; longer ones are split at line ends,
 * sentence ends or spaces. Only white space between chunks is dropped.
 */
export function chunkText(text: string): string[] {
  return runAtOnce(chunking(text));
}

/** The same in short steps. */
export function* chunking(text: string): Generator<void, string[]> {
  const chunks: string[] = [];
  let current: Block[] = [];
  let length = 0;
  let hasBody = false;
  let work = 0;
  const flush = () => {
    if (current.length > 0) chunks.push(current.map((block) => block.text).join('\n\n'));
    current = [];
    length = 0;
    hasBody = false;
  };
  for (const block of blocksOf(text)) {
    work += BLOCK_WORK + (block?.text.length ?? 0);
    if (work >= STEP_WORK) {
      work = 0;
      yield;
    }
    if (block === null) continue;
    if ((block.isHeading && hasBody) || length + block.text.length > CHUNK_CHARS) flush();
    current.push(block);
    length += block.text.length + '\n\n'.length;
    hasBody ||= !block.isHeading;
  }
  flush();
  return chunks;
}

/** Headings and paragraphs, none longer than a chunk; null where a line does not end one. */
function* blocksOf(text: string): Generator<Block | null> {
  let paragraph = '';
  for (const line of linesOf(text)) {
    const isHeading = /^ {0,3}#{1,6}\s/.test(line);
    if (!isHeading && line.trim() !== '') {
      paragraph += (paragraph === '' ? '' : '\n') + line.trimEnd();
      paragraph = yield* wholePieces(paragraph, false);
      yield null;
      continue;
    }
    if (paragraph !== '') yield* pieces(paragraph, false);
    paragraph = '';
    if (isHeading) yield* pieces(line.trim(), true);
    else yield null;
  }
  if (paragraph !== '') yield* pieces(paragraph, false);
}

function* linesOf(text: string): Generator<string> {
  let from = 0;
  for (const { 0: end, index } of text.matchAll(/\r\n|\r|\n/g)) {
    yield text.slice(from, index);
    from = index + end.length;
  }
  yield text.slice(from);
}

function* pieces(text: string, isHeading: boolean): Generator<Block> {
  const rest = (yield* wholePieces(text, isHeading)).trim();
  if (rest !== '') yield { text: rest, isHeading };
}

/** Splits off chunks of a longer text; returns the rest, which is no longer than a chunk. */
function* wholePieces(text: string, isHeading: boolean): Generator<Block, string> {
  let start = 0;
  while (text.length - start > CHUNK_CHARS) {
    const window = text.slice(start, start + CHUNK_CHARS);
    const cut = cutOf(window);
    const piece = window.slice(0, cut).trim();
    if (piece !== '') yield { text: piece, isHeading };
    start += cut;
  }
  return text.slice(start);
}

/**
 * The best position to split a longer text; a position in the first half is worse than the next kind of
 * position.
 */
function cutOf(window: string): number {
  const sentenceEnds = [...window.matchAll(/[.!?]["')\]]*\s|[。！？]/g)].map(
    (match) => match.index + match[0].length,
  );
  const places = [window.lastIndexOf('\n') + 1, sentenceEnds.at(-1) ?? 0, window.lastIndexOf(' ') + 1];
  const place = places.find((cut) => cut > CHUNK_CHARS / 2);
  if (place !== undefined) return place;
  // A character outside the basic plane must not be split.
  return /[\uD800-\uDBFF]$/.test(window) ? window.length - 1 : window.length;
}

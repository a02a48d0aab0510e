/**
 * Cuts the text of a knowledge source into the pieces that are counted, searched and put before the model (supplement 2.7).
 * Pure and linear in the text's length; shared, so that what the API counts is what a call searches.
 */

/** Longest chunk, characters: a few paragraphs, so that the best three still leave room in a prompt. */
export const CHUNK_CHARS = 1_200;

interface Block {
  readonly text: string;
  readonly isHeading: boolean;
}

/**
 * The chunks of a text, in order, each at most `CHUNK_CHARS` long. A Markdown heading begins a new one and stays with what follows it; paragraphs are kept
 * whole where they fit, longer ones are cut at line ends, sentence ends or spaces. Nothing but white space between chunks is left out.
 */
export function chunkText(text: string): string[] {
  const chunks: string[] = [];
  let current: Block[] = [];
  let length = 0;
  const flush = () => {
    if (current.length > 0) chunks.push(current.map((block) => block.text).join('\n\n'));
    current = [];
    length = 0;
  };
  for (const block of blocksOf(text)) {
    const beginsSection = block.isHeading && current.some((earlier) => !earlier.isHeading);
    if (beginsSection || length + block.text.length > CHUNK_CHARS) flush();
    current.push(block);
    length += block.text.length + '\n\n'.length;
  }
  flush();
  return chunks;
}

/** Headings and paragraphs, none longer than a chunk. */
function* blocksOf(text: string): Generator<Block> {
  let paragraph: string[] = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    const isHeading = /^ {0,3}#{1,6}\s/.test(line);
    if (!isHeading && line.trim() !== '') {
      paragraph.push(line.trimEnd());
      continue;
    }
    yield* piecesOf(paragraph.join('\n'), false);
    paragraph = [];
    if (isHeading) yield* piecesOf(line.trim(), true);
  }
  yield* piecesOf(paragraph.join('\n'), false);
}

function* piecesOf(text: string, isHeading: boolean): Generator<Block> {
  let start = 0;
  while (text.length - start > CHUNK_CHARS) {
    const window = text.slice(start, start + CHUNK_CHARS);
    const cut = cutOf(window);
    const piece = window.slice(0, cut).trim();
    if (piece !== '') yield { text: piece, isHeading };
    start += cut;
  }
  const rest = text.slice(start).trim();
  if (rest !== '') yield { text: rest, isHeading };
}

/** Where a text that goes on is best cut; a cut in the first half is worse than the next kind of place. */
function cutOf(window: string): number {
  const sentenceEnds = [...window.matchAll(/[.!?]["')\]]*\s|[。！？]/g)].map((match) => match.index + match[0].length);
  const places = [window.lastIndexOf('\n') + 1, sentenceEnds.at(-1) ?? 0, window.lastIndexOf(' ') + 1];
  const place = places.find((cut) => cut > CHUNK_CHARS / 2);
  if (place !== undefined) return place;
  // A character outside the basic plane must not be cut in two.
  return /[\uD800-\uDBFF]$/.test(window) ? window.length - 1 : window.length;
}

/**
 * Splits text into sentences that an engine synthesises one after the other, so that the first is heard while
 * the next is made.
 */

/** A part of the text. */
export interface Sentence {
  readonly start: number;
  readonly end: number;
}

/** A longer sentence is split at a comma, or else between words. */
const MAX_CHARS = 160;
/** Including the space before it. */
const MAX_ABBREVIATION_CHARS = 5;
const ABBREVIATION = /(?:^|\s)(?:[A-Za-z]|Mr|Mrs|Ms|Dr|St|No|vs|etc|e\.g|i\.e|a\.m|p\.m)\.$/;

/** Sentences in order; together they cover every visible character of the text. */
export function cutSentences(text: string): Sentence[] {
  const sentences: Sentence[] = [];
  let start = 0;
  for (const match of text.matchAll(/[.!?;:]+["')\]]*|\n+/g)) {
    const end = match.index + match[0].length;
    const isEnd = match[0].startsWith('\n') || /\s/.test(text[end] ?? '');
    if (!isEnd || ABBREVIATION.test(text.slice(Math.max(start, end - MAX_ABBREVIATION_CHARS), end))) continue;
    sentences.push(...shorten(text, start, end));
    start = end;
  }
  sentences.push(...shorten(text, start, text.length));
  return sentences;
}

function shorten(text: string, from: number, to: number): Sentence[] {
  const pieces: Sentence[] = [];
  let start = from + leadingSpace(text.slice(from, to));
  const end = to;
  while (end - start > MAX_CHARS) {
    const window = text.slice(start, start + MAX_CHARS);
    const comma = window.lastIndexOf(', ') + 1;
    const space = window.lastIndexOf(' ');
    const cut = start + (comma > MAX_CHARS / 3 ? comma : space > 0 ? space : MAX_CHARS);
    pieces.push({ start, end: cut });
    start = cut + leadingSpace(text.slice(cut, end));
  }
  if (text.slice(start, end).trim() !== '') pieces.push({ start, end });
  return pieces;
}

function leadingSpace(text: string): number {
  return text.length - text.trimStart().length;
}

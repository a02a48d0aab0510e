/**
 * Cuts a streaming reply into speakable pieces: first a short clause, so that the voice can start, then whole
 * sentences. Never cuts inside a number, abbreviation, address or bracket.
 */
import type { Emotion } from '#media/speech/speech.ts';
import { hintEnd, withoutHints } from '../text/answer-hints.ts';
import { withoutCues } from '../text/cues.ts';
import type { Expectation } from '../text/expectation.ts';
import { readable } from '../text/speakable-text.ts';

/** The first piece may end at a comma after this many characters. */
const FIRST_CLAUSE_FROM = 16;
/** Shorter sentences are joined with the next one. */
const SENTENCE_FROM = 12;
/** A longer sentence is cut at a comma or space. */
const LONGEST_PIECE = 220;
const MOST_CLOSING = 16;

const ABBREVIATIONS = new Set(
  (
    'mr mrs ms dr prof st sr jr vs etc e.g i.e no inc ltd co approx dept est fig ave blvd rd jan feb mar ' +
    'apr jun jul aug sep sept oct nov dec a.m p.m u.s u.k ca bzw z.b d.h u.a usw evtl inkl zzgl ggf str nr ' +
    'hr fr std tel m mme mlle env tél sra srta dra ud uds aprox pág núm av sig dott ing ecc bijv d.w.z ' +
    'a.u.b dhr mevr enz incl np ul godz tzn zob t.ex bl.a kl osv f.eks eks т.е т.д т.п ул стр тел руб'
  ).split(' '),
);

/** Longer than any abbreviation, including marks before it. */
const LONGEST_ABBREVIATION = 24;

/** A piece of a reply. */
export interface Piece {
  /** Spoken text, without cues. */
  readonly text: string;
  /** Emotion from the last cue so far. */
  readonly emotion: Emotion | null;
}

/** Cuts one reply. */
export interface PieceCutter {
  /** Appends the model's next text; returns the pieces that are now complete. */
  push(text: string): Piece[];
  /** The model has finished: returns the rest. */
  finish(): Piece[];
  /** The answer that the model has said it expects so far; null: any. Undefined if it has not. */
  readonly expects: Expectation | null | undefined;
}

/** Starts a reply. */
export function createPieceCutter(): PieceCutter {
  let buffer = '';
  let isFirst = true;
  let emotion: Emotion | null = null;
  let hint: Expectation | null | undefined;

  function take(end: number): Piece[] {
    const hinted = withoutHints(buffer.slice(0, end));
    if (hinted.expects !== undefined) hint = hinted.expects;
    const said = withoutCues(hinted.text);
    const text = readable(said.text);
    buffer = buffer.slice(end);
    emotion = said.emotion ?? emotion;
    if (!/[\p{L}\p{N}]/u.test(text)) return [];
    isFirst = false;
    return [{ text, emotion }];
  }

  return {
    push(text) {
      buffer += text;
      const pieces: Piece[] = [];
      for (let end = nextCut(buffer, isFirst); end > 0; end = nextCut(buffer, isFirst))
        pieces.push(...take(end));
      return pieces;
    },
    finish: () => take(buffer.length),
    get expects() {
      return hint;
    },
  };
}

/** Where a bracket opens or closes, or something may end. */
const MARKS = /[([{)\]}\n。！？｡.!?…؟।，、；：,;:—–]/g;

/** End of the first piece of `text`; 0 while undecided. Called for every token, so it looks at marks only. */
function nextCut(text: string, isFirst: boolean): number {
  let depth = 0;
  for (const { 0: mark, index } of text.slice(0, LONGEST_PIECE + 1).matchAll(MARKS)) {
    if ('([{'.includes(mark)) depth += 1;
    if (')]}'.includes(mark)) depth = Math.max(0, depth - 1);
    // Whether a mark ends a piece depends on the next character.
    if (index + 1 === text.length || index >= LONGEST_PIECE) break;
    const end = depth > 0 ? 0 : endAt(text, index, isFirst);
    if (end > 0) return end;
  }
  return text.length > LONGEST_PIECE ? forcedCut(text) : 0;
}

/** End of the piece that this mark closes; 0 when it closes none. */
function endAt(text: string, index: number, isFirst: boolean): number {
  if ((isFirst || index + 1 >= SENTENCE_FROM) && endsSentence(text, index))
    return afterClosing(text, index + 1);
  return isFirst && index + 1 >= FIRST_CLAUSE_FROM && endsClause(text, index) ? index + 1 : 0;
}

function forcedCut(text: string): number {
  // A cue is never cut: half of it would be read aloud.
  const open = text.lastIndexOf('[', LONGEST_PIECE);
  if (open > 0 && !text.slice(open, LONGEST_PIECE).includes(']')) return open;
  const end = hintEnd(text);
  if (end !== null) return end;
  for (let index = LONGEST_PIECE - 1; index > 0; index--) if (endsClause(text, index)) return index + 1;
  // After a digit a number or its unit may go on, after a full stop the name that an abbreviation belongs to.
  for (let index = LONGEST_PIECE; index > 0; index--)
    if (text[index] === ' ' && !/[\d.]/.test(text[index - 1] ?? '')) return index;
  const space = text.lastIndexOf(' ', LONGEST_PIECE);
  return space > 0 ? space : LONGEST_PIECE;
}

function endsSentence(text: string, index: number): boolean {
  const [char = '', next = ''] = [text[index], text[index + 1]];
  if ('。！？｡'.includes(char)) return true;
  if (char === '\n') return true;
  if (!'.!?…؟।'.includes(char) || !/[\s"')\]]/.test(next)) return false;
  return char !== '.' || !isAbbreviation(text.slice(Math.max(0, index - LONGEST_ABBREVIATION), index));
}

function isAbbreviation(before: string): boolean {
  const word = (before.split(/\s/).at(-1) ?? '').toLowerCase().replace(/^["'(]+/, '');
  // A single letter is an initial; a lone number starts a list item or a decimal.
  return ABBREVIATIONS.has(word) || /^\p{L}$/u.test(word) || /^\d{1,2}$/.test(word);
}

function endsClause(text: string, index: number): boolean {
  const [char = '', next = ''] = [text[index], text[index + 1]];
  if ('，、；：'.includes(char)) return true;
  if (!',;:—–'.includes(char) || !/\s/.test(next)) return false;
  return !(/\d/.test(text[index - 1] ?? '') && /^\s*\d/.test(text.slice(index + 1)));
}

/** Closing quotes and brackets after the mark belong to the sentence; there are never many. */
function afterClosing(text: string, end: number): number {
  let position = end;
  while (position - end < MOST_CLOSING && /["')\]”’»]/.test(text[position] ?? '')) position += 1;
  return position;
}

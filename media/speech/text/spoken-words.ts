/**
 * Locates a vendor's timed words in the requested text. Vendors time characters, or words without positions.
 */
import type { SpokenWord } from '../speech.ts';

/** How far ahead to search for a character or word if the vendor omitted or rephrased something. */
const MAX_SKIPPED_CHARS = 48;

/** Builds words from timed characters, which may arrive in chunks that cut a word. */
export class CharacterTimes {
  readonly #text: string;
  #cursor = 0;
  #word: { readonly textStart: number; textEnd: number; readonly startMs: number; endMs: number } | null =
    null;

  constructor(text: string) {
    this.#text = text;
  }

  /** Takes characters with their times, ms; returns the words they complete. */
  take(
    characters: readonly string[],
    startsMs: readonly number[],
    durationsMs: readonly number[],
  ): SpokenWord[] {
    const words: SpokenWord[] = [];
    for (const [index, character] of characters.entries()) {
      const startMs = startsMs[index] ?? 0;
      const at = character.trim() === '' ? -1 : this.#text.indexOf(character, this.#cursor);
      if (at === -1 || at - this.#cursor > MAX_SKIPPED_CHARS) continue;
      this.#cursor = at + character.length;
      if (this.#word && /\s/.test(this.#text.slice(this.#word.textEnd, at))) words.push(...this.flush());
      this.#word ??= { textStart: wordStart(this.#text, at), textEnd: at, startMs, endMs: startMs };
      this.#word.textEnd = this.#cursor;
      this.#word.endMs = startMs + (durationsMs[index] ?? 0);
      if (/^(\s|$)/.test(this.#text.slice(this.#cursor, this.#cursor + 1))) words.push(...this.flush());
    }
    return words;
  }

  /** The incomplete word, if any. */
  flush(): SpokenWord[] {
    const word = this.#word;
    this.#word = null;
    return word ? [{ ...word, textEnd: wordEnd(this.#text, word.textEnd - 1) }] : [];
  }
}

/** Positions of timed words. */
export class WordTimes {
  readonly #text: string;
  #cursor = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Position of the next word; null if it is not in the text. */
  take(word: string, startMs: number, endMs: number): SpokenWord | null {
    const at = this.#text.indexOf(word.trim(), this.#cursor);
    if (word.trim() === '' || at === -1 || at - this.#cursor > MAX_SKIPPED_CHARS) return null;
    const textEnd = wordEnd(this.#text, at + word.trim().length - 1);
    this.#cursor = textEnd;
    return { textStart: wordStart(this.#text, at), textEnd, startMs, endMs };
  }
}

/** Start of the run of visible characters around a position. */
function wordStart(text: string, at: number): number {
  let start = at;
  while (start > 0 && !/\s/.test(text.charAt(start - 1))) start--;
  return start;
}

function wordEnd(text: string, at: number): number {
  let end = at + 1;
  while (end < text.length && !/\s/.test(text.charAt(end))) end++;
  return end;
}

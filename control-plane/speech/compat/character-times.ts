/** Times of characters from times of words, as the voice vendor aligns text and audio. Pure. */
import type { AudioPiece } from '#media/speech/pool/speech-jobs.ts';

/** One character and when it is heard, seconds from the beginning of the whole. */
export interface TimedCharacter {
  readonly character: string;
  readonly start: number;
  readonly end: number;
}

/** Gives each character of a spoken text its time once; pieces come in order. */
export class CharacterTimes {
  #seq = -1;
  #text = '';
  /** What stood between the last word told and the chunk that has begun. */
  #between = '';
  /** Characters of the chunk told so far. */
  #told = 0;
  /** Where the last of them ends, seconds from the beginning of the whole. */
  #end = 0;
  #words = 0;

  /** The characters that this piece settles; none where the engine times no words. */
  take({ chunk }: AudioPiece): TimedCharacter[] {
    if (chunk.seq !== this.#seq) {
      // The engine is given clauses without the blank between them.
      const rest = this.#between + this.#text.slice(this.#told);
      this.#between = this.#end > 0 && isBlankBetween(this.#text, chunk.text) ? `${rest} ` : rest;
      this.#seq = chunk.seq;
      this.#text = chunk.text;
      this.#told = 0;
      this.#words = 0;
    }
    const settled: TimedCharacter[] = [];
    for (const word of (chunk.words ?? []).slice(this.#words)) {
      this.#words++;
      const at = chunk.text.indexOf(word.text, this.#told);
      if (at === -1) continue;
      const [start, end] = [
        Math.max(this.#end, chunk.offsetSeconds + word.start),
        chunk.offsetSeconds + word.end,
      ];
      // What stands between two words fills the time between them.
      const before = this.#between + chunk.text.slice(this.#told, at);
      settled.push(...spread(before, this.#end, start), ...spread(word.text, start, Math.max(start, end)));
      this.#told = at + word.text.length;
      this.#between = '';
      this.#end = Math.max(start, end);
    }
    return settled;
  }
}

/** Scripts that put no blank between sentences. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Mymr}\u3000-\u303F\uFF00-\uFF60]/u;

function isBlankBetween(before: string, after: string): boolean {
  const [last, next] = [before.at(-1) ?? ' ', after[0] ?? ' '];
  return last.trim() !== '' && next.trim() !== '' && !(UNSPACED.test(last) && UNSPACED.test(next));
}

function spread(text: string, start: number, end: number): TimedCharacter[] {
  const characters = [...text];
  const each = (end - start) / characters.length;
  return characters.map((character, index) => ({
    character,
    start: start + index * each,
    end: start + (index + 1) * each,
  }));
}

/** As the HTTP answers tell it; null where nothing is timed. */
export function inSeconds(characters: readonly TimedCharacter[]) {
  if (characters.length === 0) return null;
  return {
    characters: characters.map(({ character }) => character),
    character_start_times_seconds: characters.map(({ start }) => start),
    character_end_times_seconds: characters.map(({ end }) => end),
  };
}

/** As the WebSocket tells it, ms; null where nothing is timed. */
export function inMilliseconds(characters: readonly TimedCharacter[]) {
  if (characters.length === 0) return null;
  return {
    chars: characters.map(({ character }) => character),
    charStartTimesMs: characters.map(({ start }) => Math.round(start * 1_000)),
    charDurationsMs: characters.map(({ start, end }) => Math.round((end - start) * 1_000)),
  };
}

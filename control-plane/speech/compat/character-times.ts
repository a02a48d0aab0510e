/** Converts times of words to times of characters, as the voice vendor aligns text and audio. Pure. */
import type { AudioPiece } from '#media/speech/pool/speech-jobs.ts';

/** A character and when it is heard, seconds from the start of the whole. */
export interface TimedCharacter {
  readonly character: string;
  readonly start: number;
  readonly end: number;
}

/** Assigns a time to each character of a spoken text once; pieces arrive in order. */
export class CharacterTimes {
  #seq = -1;
  #text = '';
  /** Text between the last word and the current chunk. */
  #between = '';
  /** Number of characters of the chunk emitted so far. */
  #emitted = 0;
  /** End of the last of them, seconds from the start of the whole. */
  #end = 0;
  #words = 0;

  /** The characters this piece settles; none if the engine has no word times. */
  take({ chunk }: AudioPiece): TimedCharacter[] {
    if (chunk.seq !== this.#seq) {
      // The engine receives clauses without the space between them.
      const rest = this.#between + this.#text.slice(this.#emitted);
      this.#between = this.#end > 0 && isBlankBetween(this.#text, chunk.text) ? `${rest} ` : rest;
      this.#seq = chunk.seq;
      this.#text = chunk.text;
      this.#emitted = 0;
      this.#words = 0;
    }
    const settled: TimedCharacter[] = [];
    for (const word of (chunk.words ?? []).slice(this.#words)) {
      this.#words++;
      const at = chunk.text.indexOf(word.text, this.#emitted);
      if (at === -1) continue;
      const [start, end] = [
        Math.max(this.#end, chunk.offsetSeconds + word.start),
        chunk.offsetSeconds + word.end,
      ];
      // Characters between two words fill the time between them.
      const before = this.#between + chunk.text.slice(this.#emitted, at);
      settled.push(...spread(before, this.#end, start), ...spread(word.text, start, Math.max(start, end)));
      this.#emitted = at + word.text.length;
      this.#between = '';
      this.#end = Math.max(start, end);
    }
    return settled;
  }
}

/** Scripts without spaces between sentences. */
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

/** In the form of the HTTP answers; null without times. */
export function inSeconds(characters: readonly TimedCharacter[]) {
  if (characters.length === 0) return null;
  return {
    characters: characters.map(({ character }) => character),
    character_start_times_seconds: characters.map(({ start }) => start),
    character_end_times_seconds: characters.map(({ end }) => end),
  };
}

/** In the form of the WebSocket, ms; null without times. */
export function inMilliseconds(characters: readonly TimedCharacter[]) {
  if (characters.length === 0) return null;
  return {
    chars: characters.map(({ character }) => character),
    charStartTimesMs: characters.map(({ start }) => Math.round(start * 1_000)),
    charDurationsMs: characters.map(({ start, end }) => Math.round((end - start) * 1_000)),
  };
}

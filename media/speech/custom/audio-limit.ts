/** How much audio an owner's server may send for a text. */
import { type SpeechChunk, SpeechError } from '../speech.ts';
import { OWN_SERVER } from './own-server.ts';

/** Most audio for a text, and time for it: this much, and more for each character, ms. Speech takes 80. */
const LEAST_LIMIT_MS = 15_000;
const LIMIT_MS_PER_CHARACTER = 400;
/** A minute of the usual quality for music, which speech does not need. */
const MAX_MP3_BYTES = 2 * 2 ** 20;

/** The limit of one text: an endless answer ends here. All methods throw `SpeechError`. */
export class AudioLimit {
  readonly longestMs: number;
  /** False for a text without letters and digits, which may have no audio. */
  readonly isSpoken: boolean;
  readonly #text: string;
  #ms = 0;

  constructor(text: string) {
    this.#text = text;
    this.longestMs = LEAST_LIMIT_MS + LIMIT_MS_PER_CHARACTER * text.length;
    this.isSpoken = /[\p{L}\p{N}]/u.test(text);
  }

  add({ samples, sampleRateHz }: Omit<SpeechChunk, 'words'>): SpeechChunk {
    this.#ms += (samples.length * 1_000) / sampleRateHz;
    if (this.#ms > this.longestMs) throw tooMuch(`${this.longestMs} ms of audio`, this.#text);
    return { samples, sampleRateHz, words: null };
  }

  /** A whole file, in pieces. */
  async wholeMp3(body: AsyncIterable<Uint8Array>): Promise<readonly Uint8Array[]> {
    const file: Uint8Array[] = [];
    let length = 0;
    for await (const bytes of body) {
      length += bytes.length;
      if (length > MAX_MP3_BYTES) throw tooMuch(`${MAX_MP3_BYTES} bytes of MP3`, this.#text);
      file.push(bytes);
    }
    return file;
  }

  /** A text that could be spoken must have had audio. */
  end(): void {
    if (this.#ms === 0 && this.isSpoken)
      throw new SpeechError('unavailable', `${OWN_SERVER} sent no audio for a text`);
  }
}

function tooMuch(what: string, text: string): SpeechError {
  return new SpeechError(
    'unavailable',
    `${OWN_SERVER} sent more than ${what} for a text of ${text.length} characters`,
  );
}

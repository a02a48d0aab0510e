/** The framing of drachtio's protocol: the length in bytes, `#`, and the text. */

/** Writes a frame. */
export function frame(text: string): string {
  return `${Buffer.byteLength(text)}#${text}`;
}

/** Reads the frames of one connection. */
export class FrameReader {
  readonly #onFrame: (text: string) => void;
  #waiting: Buffer = Buffer.alloc(0);

  constructor(onFrame: (text: string) => void) {
    this.#onFrame = onFrame;
  }

  read(chunk: Buffer): void {
    this.#waiting = Buffer.concat([this.#waiting, chunk]);
    for (;;) {
      const hash = this.#waiting.indexOf('#');
      const end = hash + 1 + Number(this.#waiting.toString('latin1', 0, hash));
      if (hash < 0 || this.#waiting.length < end) return;
      const text = this.#waiting.toString('utf8', hash + 1, end);
      this.#waiting = this.#waiting.subarray(end);
      this.#onFrame(text);
    }
  }
}

/**
 * Cuts a byte stream into SIP messages (RFC 3261 §18.3). Looks at each byte once, however small the chunks
 * are.
 */
import { MAX_MESSAGE_BYTES } from './message.ts';

const HEADER_END = Buffer.from('\r\n\r\n');
const LINE_FEED = 10;
const FIRST_BYTES = 2_048;

/** One message of a stream. */
export interface Cut {
  readonly text: string;
  /** Its end is unknown, so nothing after it can be parsed (RFC 4475 §3.1.2.3). */
  readonly isBroken: boolean;
}

/** The received part of a stream that is not yet a whole message. */
export class MessageStream {
  #bytes = Buffer.alloc(FIRST_BYTES);
  /**
   * The message begins at `#from`; received data ends at `#to`; no end of the head was found before `#seen`.
   */
  #from = 0;
  #to = 0;
  #seen = 0;
  /** End of the message, once its head is complete. */
  #end: number | null = null;
  /** Empty lines since the last message or ping. */
  #emptyLines = 0;
  #hasPing = false;

  /** True while a message is incomplete. */
  get isPartial(): boolean {
    return this.#to > this.#from;
  }

  /** Whether the peer has asked by two empty lines since the last question here (RFC 5626 §3.5.1). */
  takePing(): boolean {
    const hasPing = this.#hasPing;
    this.#hasPing = false;
    return hasPing;
  }

  /**
   * Adds received bytes and returns the messages now complete, in order. After a broken one there are none.
   */
  take(chunk: Uint8Array): Cut[] {
    this.#append(chunk);
    const cuts: Cut[] = [];
    for (let cut = this.#cut(); cut !== null; cut = this.#cut()) {
      cuts.push(cut);
      if (cut.isBroken) break;
    }
    return cuts;
  }

  #append(chunk: Uint8Array): void {
    const waiting = this.#to - this.#from;
    if (this.#to + chunk.length > this.#bytes.length) {
      // Reuses the space of finished messages, or else doubles the buffer, so that each byte is moved once on
      // average.
      const target =
        waiting + chunk.length > this.#bytes.length / 2
          ? Buffer.alloc(Math.max(2 * this.#bytes.length, waiting + chunk.length))
          : this.#bytes;
      this.#bytes.copy(target, 0, this.#from, this.#to);
      this.#bytes = target;
      this.#seen -= this.#from;
      if (this.#end !== null) this.#end -= this.#from;
      this.#from = 0;
      this.#to = waiting;
    }
    this.#bytes.set(chunk, this.#to);
    this.#to += chunk.length;
  }

  #cut(): Cut | null {
    if (this.#end === null) {
      this.#skipEmptyLines();
      const headEnd = this.#bytes
        .subarray(0, this.#to)
        .indexOf(HEADER_END, Math.max(this.#from, this.#seen - HEADER_END.length + 1));
      if (headEnd < 0) {
        this.#seen = this.#to;
        return this.#to - this.#from > MAX_MESSAGE_BYTES
          ? this.#handOut(this.#from + MAX_MESSAGE_BYTES, true)
          : null;
      }
      const bodyAt = headEnd + HEADER_END.length;
      const length = contentLength(this.#bytes.toString('latin1', this.#from, headEnd));
      if (length === null || bodyAt + length - this.#from > MAX_MESSAGE_BYTES)
        return this.#handOut(bodyAt, true);
      this.#end = bodyAt + length;
    }
    return this.#to < this.#end ? null : this.#handOut(this.#end, false);
  }

  /** Between messages they keep a NAT binding open (RFC 5626 §3.5.1). */
  #skipEmptyLines(): void {
    while (
      this.#seen === this.#from &&
      this.#from < this.#to &&
      (this.#bytes[this.#from] === 13 || this.#bytes[this.#from] === LINE_FEED)
    ) {
      if (this.#bytes[this.#from] === LINE_FEED) this.#noteEmptyLine();
      this.#seen = ++this.#from;
    }
  }

  #noteEmptyLine(): void {
    this.#emptyLines += 1;
    if (this.#emptyLines < 2) return;
    this.#emptyLines = 0;
    this.#hasPing = true;
  }

  #handOut(end: number, isBroken: boolean): Cut {
    const text = this.#bytes.toString('utf8', this.#from, end);
    this.#emptyLines = 0;
    this.#from = isBroken ? this.#to : end;
    this.#seen = this.#from;
    this.#end = null;
    return { text, isBroken };
  }
}

/** The Content-Length of a head; 0 if there is none, null if it is ambiguous. */
function contentLength(head: string): number | null {
  const given = [
    ...head.replace(/\r\n[ \t]+/g, ' ').matchAll(/\r\n(?:content-length|l)[ \t]*:([^\r\n]*)/gi),
  ].map((match) => (match[1] ?? '').trim());
  if (given.length === 0) return 0;
  return given.length === 1 && /^\d{1,6}$/.test(given[0] ?? '') ? Number(given[0]) : null;
}

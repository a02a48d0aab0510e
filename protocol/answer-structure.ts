/**
 * Bounds the work that the JSON of an MCP server's answer causes. The library checks every part of a message
 * against its schemas, and a part that fits none costs tens of microseconds: two megabytes of such parts
 * would stop all calls of a worker for seconds. Counts the parts of each message while its bytes arrive, in
 * linear time, before anything parses them.
 */
import { LIMITS } from '#config/limits.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** First byte of a byte order mark, after which a parser of event streams may find a field. */
const MARK_START = 0xef;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);
/** The only field of an event that has JSON. */
const FIELD = Buffer.from('data:');
/** Levels at which messages have blocks of content, and lists have tools. */
const SHALLOW_LEVELS = 3;

/** Counts the parts of one answer. */
export class AnswerStructure {
  readonly #isEventStream: boolean;
  #depth = 0;
  #shallow = 0;
  #deep = 0;
  #column = 0;
  #isIgnored = false;
  #isInString = false;
  #isEscaped = false;
  #isAfterReturn = false;
  #isRefused = false;

  /** An event stream has its messages in lines `data:`; any other answer is one message. */
  constructor({ isEventStream }: { readonly isEventStream: boolean }) {
    this.#isEventStream = isEventStream;
  }

  /** False once a message has too many parts or levels. */
  accepts(chunk: Uint8Array): boolean {
    for (const byte of chunk) {
      this.#take(byte);
      if (this.#isRefused) return false;
    }
    return true;
  }

  #take(byte: number): void {
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
      this.#endLine(byte);
      return;
    }
    this.#isAfterReturn = false;
    const column = this.#column++;
    if (this.#isEventStream && column < FIELD.length) this.#takeField(byte, column);
    else if (this.#isIgnored) return;
    else if (this.#isInString) this.#takeText(byte);
    else this.#takeJson(byte);
  }

  /** No text of JSON goes over the end of a line, and an event ends with an empty line. */
  #endLine(byte: number): void {
    const isSecondHalf = byte === LINE_FEED && this.#isAfterReturn;
    this.#isAfterReturn = byte === CARRIAGE_RETURN;
    if (isSecondHalf) return;
    if (this.#isEventStream && this.#column === 0) this.#endMessage();
    this.#column = 0;
    this.#isIgnored = false;
    this.#isInString = false;
    this.#isEscaped = false;
  }

  #takeField(byte: number, column: number): void {
    if (byte !== FIELD[column]) this.#isIgnored = true;
    if (column === 0 && byte === MARK_START) this.#isRefused = true;
  }

  #takeText(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInString = false;
  }

  #takeJson(byte: number): void {
    if (byte === QUOTE) this.#isInString = true;
    else if (byte === COMMA) this.#count();
    else if (OPENING.has(byte)) {
      this.#count();
      this.#depth += 1;
    } else if (CLOSING.has(byte)) {
      this.#depth = Math.max(0, this.#depth - 1);
      if (this.#depth === 0) this.#endMessage();
    }
  }

  #count(): void {
    if (this.#depth <= SHALLOW_LEVELS) this.#shallow += 1;
    else this.#deep += 1;
    this.#isRefused =
      this.#shallow > LIMITS.serverMessageItems ||
      this.#deep > LIMITS.serverMessageParts ||
      this.#depth > LIMITS.serverMessageDepth;
  }

  #endMessage(): void {
    this.#depth = 0;
    this.#shallow = 0;
    this.#deep = 0;
  }
}

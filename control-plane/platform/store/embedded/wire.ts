/**
 * MongoDB's wire protocol: OP_MSG (2013), plus OP_QUERY (2004) and OP_REPLY (1) for a driver's first
 * handshake. All lengths are checked; a malformed message closes the connection.
 */
import { Long, serialize } from 'bson';
import { type Document, decode, decodeReceived } from './bson-values.ts';
import type { Command } from './command-fields.ts';
import type { CursorReply } from './cursors.ts';
import { isCursorReply, type Reply } from './read-context.ts';

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const HEADER_BYTES = 16;
const FLAG_CHECKSUM = 1;
const FLAG_MORE_TO_COME = 2;

/** Maximum message length, announced to clients by `hello`. */
export const MAX_MESSAGE_BYTES = 48_000_000;

/** A received message. */
export interface Request {
  readonly id: number;
  readonly command: Command;
  /** Legacy handshake, answered with an OP_REPLY. */
  readonly isLegacy: boolean;
  /** False for an unacknowledged write. */
  readonly wantsReply: boolean;
}

/** Splits a byte stream into messages. */
export class MessageSplitter {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /**
   * Adds received bytes and returns all complete messages. Throws on an invalid length, and on one beyond
   * `maxBytes`.
   */
  push(chunk: Buffer, maxBytes = MAX_MESSAGE_BYTES): Buffer[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const messages: Buffer[] = [];
    while (this.#bytes >= HEADER_BYTES) {
      if ((this.#chunks[0]?.length ?? 0) < 4) this.#chunks = [Buffer.concat(this.#chunks)];
      const length = this.#chunks[0]?.readInt32LE(0) ?? 0;
      if (length < HEADER_BYTES || length > maxBytes) throw new Error(`impossible message length ${length}`);
      if (this.#bytes < length) break;
      const all =
        this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks);
      messages.push(all.subarray(0, length));
      this.#chunks = all.length > length ? [all.subarray(length)] : [];
      this.#bytes -= length;
    }
    return messages;
  }
}

/** Parses a message. Throws if it is malformed. */
export function parseMessage(message: Buffer): Request {
  const id = message.readInt32LE(4);
  const operation = message.readInt32LE(12);
  if (operation === OP_QUERY) {
    const nameEnd = message.indexOf(0, 20);
    if (nameEnd < 0) throw new Error('malformed OP_QUERY');
    return { id, command: decode(section(message, nameEnd + 9)), isLegacy: true, wantsReply: true };
  }
  if (operation !== OP_MSG) throw new Error(`unknown operation ${operation}`);
  const flags = message.readUInt32LE(16);
  const end = message.length - (flags & FLAG_CHECKSUM ? 4 : 0);
  return {
    id,
    command: parseSections(message.subarray(0, end)),
    isLegacy: false,
    wantsReply: (flags & FLAG_MORE_TO_COME) === 0,
  };
}

/** Body (kind 0) and document sequences (kind 1), which are list fields of the command. */
function parseSections(message: Buffer): Command {
  let command: Command = {};
  const sequences: Document = {};
  for (let at = 20; at < message.length; ) {
    const bytes = section(message, at + 1);
    const kind = message[at];
    if (kind === 0) command = decode(bytes);
    else if (kind === 1) {
      const nameEnd = bytes.indexOf(0, 4);
      if (nameEnd < 0) throw new Error('malformed document sequence');
      sequences[bytes.toString('utf8', 4, nameEnd)] = parseSequence(bytes.subarray(nameEnd + 1));
    } else throw new Error(`unknown section kind ${kind}`);
    at += 1 + bytes.length;
  }
  return { ...command, ...sequences };
}

function parseSequence(bytes: Buffer): Document[] {
  const documents: Document[] = [];
  for (let at = 0; at < bytes.length; ) {
    const document = section(bytes, at);
    documents.push(decodeReceived(document));
    at += document.length;
  }
  return documents;
}

/** The bytes of a section that starts with its own length. */
function section(bytes: Buffer, at: number): Buffer {
  const length = bytes.readInt32LE(at);
  if (length < 5 || at + length > bytes.length) throw new Error('a section is longer than its message');
  return bytes.subarray(at, at + length);
}

/** Encodes a reply. */
export function frameReply(request: Pick<Request, 'id' | 'isLegacy'>, reply: Reply): Buffer {
  const body = isCursorReply(reply)
    ? cursorBody(reply)
    : Buffer.from(serialize({ ...reply, ok: reply['ok'] ?? 1 }, { ignoreUndefined: true }));
  const head = Buffer.alloc(request.isLegacy ? 36 : 21);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(request.id, 8);
  head.writeInt32LE(request.isLegacy ? OP_REPLY : OP_MSG, 12);
  if (request.isLegacy) {
    head.writeInt32LE(8, 16);
    head.writeInt32LE(1, 32);
  }
  return Buffer.concat([head, body]);
}

const END = Buffer.from([0]);
const TYPE_DOCUMENT = 3;
const TYPE_ARRAY = 4;

/**
 * Builds `{cursor: {id, ns, firstBatch: […]}, ok: 1}` by hand, so stored documents are copied without
 * decoding.
 */
function cursorBody({ id, namespace, batch, documents }: CursorReply): Buffer {
  const elements = documents.flatMap((document, index) => [
    elementHead(TYPE_DOCUMENT, String(index)),
    document,
  ]);
  const list = wholeDocument(elements);
  const cursor = wholeDocument([
    fieldsOf({ id: Long.fromNumber(id), ns: namespace }),
    elementHead(TYPE_ARRAY, batch),
    list,
  ]);
  return wholeDocument([elementHead(TYPE_DOCUMENT, 'cursor'), cursor, fieldsOf({ ok: 1 })]);
}

function elementHead(type: number, name: string): Buffer {
  return Buffer.from(`${String.fromCharCode(type)}${name}\0`, 'latin1');
}

/** A document's fields, without its length and terminator. */
function fieldsOf(document: Document): Uint8Array {
  return serialize(document).subarray(4, -1);
}

function wholeDocument(elements: readonly Uint8Array[]): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32LE(5 + elements.reduce((total, element) => total + element.length, 0));
  return Buffer.concat([length, ...elements, END]);
}

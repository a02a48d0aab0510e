/**
 * The part of Protocol Buffers' encoding that speech vendors need: fields that are numbers, texts, bytes or
 * messages.
 *
 * Source: protobuf.dev, "Encoding".
 */

const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED_32 = 5;
const MAX_VARINT_BYTES = 10;

/** A field of a message: a number, or the bytes of a text or of another message. */
export interface Field {
  readonly number: number;
  readonly value: number | Uint8Array;
}

/** A message of fields; those that are undefined are left out. */
export function encodeMessage(
  fields: readonly (readonly [number: number, value: number | boolean | string | Uint8Array | undefined])[],
): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (value === undefined) return [];
      if (typeof value === 'number' || typeof value === 'boolean')
        return [varint(number * 8 + VARINT), varint(Number(value))];
      const bytes = typeof value === 'string' ? Buffer.from(value) : value;
      return [varint(number * 8 + LENGTH_DELIMITED), varint(bytes.length), bytes];
    }),
  );
}

/**
 * The fields of a message in their order; null for bytes that are none. Numbers of more than 53 bits lose
 * digits, and those of fixed length are left out.
 */
export function decodeMessage(bytes: Uint8Array): readonly Field[] | null {
  const reader = new Reader(bytes);
  const fields: Field[] = [];
  while (!reader.isAtEnd) {
    const tag = reader.varint();
    const number = Math.floor(tag / 8);
    const kind = tag % 8;
    if (kind === VARINT) fields.push({ number, value: reader.varint() });
    else if (kind === LENGTH_DELIMITED) fields.push({ number, value: reader.take(reader.varint()) });
    else if (kind === FIXED_64) reader.take(8);
    else if (kind === FIXED_32) reader.take(4);
    else return null;
    if (reader.isBroken) return null;
  }
  return fields;
}

/** The last value of a field that is a number; 0 if it is absent, which is what the encoding leaves out. */
export function numberOf(fields: readonly Field[], number: number): number {
  const value = fields.findLast((field) => field.number === number)?.value;
  return typeof value === 'number' ? value : 0;
}

/** Every value of a field that is bytes, a text or a message. */
export function bytesOf(fields: readonly Field[], number: number): readonly Uint8Array[] {
  return fields.flatMap((field) =>
    field.number === number && typeof field.value !== 'number' ? [field.value] : [],
  );
}

/** The last text of a field; empty if it is absent. */
export function textOf(fields: readonly Field[], number: number): string {
  return Buffer.from(bytesOf(fields, number).at(-1) ?? []).toString();
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;
  /** Something was read beyond the end, or too long a number. */
  isBroken = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.isBroken || this.#at >= this.#bytes.length;
  }

  varint(): number {
    let value = 0;
    for (let index = 0; index < MAX_VARINT_BYTES; index++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * 2 ** (7 * index);
      if (byte < 0x80) return value;
    }
    this.isBroken = true;
    return 0;
  }

  take(length: number): Uint8Array {
    const end = this.#at + length;
    this.isBroken ||= end > this.#bytes.length;
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) + 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/** Bencode (BEP 3) as used by rtpengine: dictionaries, lists, integers, and byte strings read as text. */

/** Values that can be written. */
export type Bencodable = string | number | readonly Bencodable[] | { readonly [key: string]: Bencodable };

/** Values that can be read. */
export type Bencoded = string | number | Bencoded[] | Map<string, Bencoded>;

/** Deeper than any message of rtpengine. */
const MAX_DEPTH = 16;
const [END, COLON] = [0x65, 0x3a];

/** Writes a value, with the keys of dictionaries sorted. */
export function encodeBencode(value: Bencodable): Buffer {
  if (typeof value === 'string') return Buffer.from(`${Buffer.byteLength(value)}:${value}`);
  if (typeof value === 'number') return Buffer.from(`i${Math.trunc(value)}e`);
  if (isList(value)) return enclosed('l', value.map(encodeBencode));
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return enclosed(
    'd',
    entries.flatMap(([key, entry]) => [encodeBencode(key), encodeBencode(entry)]),
  );
}

/** Reads a value that occupies all of `bytes`. Throws `SyntaxError` for anything else. */
export function decodeBencode(bytes: Uint8Array): Bencoded {
  const reader = new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const value = reader.value(0);
  if (!reader.isAtEnd) throw new SyntaxError('more than one bencoded value');
  return value;
}

function isList(value: Bencodable): value is readonly Bencodable[] {
  return Array.isArray(value);
}

function enclosed(type: string, parts: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from(type), ...parts, Buffer.from('e')]);
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  value(depth: number): Bencoded {
    if (depth > MAX_DEPTH) throw new SyntaxError('bencode is nested too deeply');
    switch (String.fromCharCode(this.#bytes[this.#at] ?? 0)) {
      case 'i':
        this.#at += 1;
        return this.#number(END, /^-?\d{1,15}$/);
      case 'l':
        return this.#list(depth);
      case 'd':
        return this.#dictionary(depth);
      default:
        return this.#text();
    }
  }

  #list(depth: number): Bencoded[] {
    const list: Bencoded[] = [];
    for (this.#at += 1; this.#bytes[this.#at] !== END; ) list.push(this.value(depth + 1));
    this.#at += 1;
    return list;
  }

  #dictionary(depth: number): Map<string, Bencoded> {
    const dictionary = new Map<string, Bencoded>();
    for (this.#at += 1; this.#bytes[this.#at] !== END; ) dictionary.set(this.#text(), this.value(depth + 1));
    this.#at += 1;
    return dictionary;
  }

  #text(): string {
    const length = this.#number(COLON, /^\d{1,9}$/);
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new SyntaxError('bencode ends too early');
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end;
    return text;
  }

  #number(delimiter: number, form: RegExp): number {
    const end = this.#bytes.indexOf(delimiter, this.#at);
    const digits = end < 0 ? '' : this.#bytes.toString('latin1', this.#at, end);
    if (!form.test(digits)) throw new SyntaxError('not bencode');
    this.#at = end + 1;
    return Number(digits);
  }
}

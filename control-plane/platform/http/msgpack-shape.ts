/**
 * Checks a MessagePack value before decoding. A list declares its length before its items, and the decoder
 * allocates for it immediately, so a few bytes could request gigabytes. Allocates nothing. Pure.
 */

/** Maximum items in a list or map; more than any real request has. */
const MAX_ITEMS = 10_000;
/** Maximum nesting depth; more than any real request has. */
const MAX_DEPTH = 16;
/** Maximum number of values at all levels; more than the longest pronunciation dictionary has. */
const MAX_VALUES = 100_000;
/**
 * Maximum length of a string, which is decoded in one step; several times the longest text that can be
 * spoken.
 */
const MAX_TEXT_BYTES = 1_048_576;
/** Head byte of a string with a four-byte length (str 32). */
const LONG_TEXT = 219;
/** Size of one part. */
const PART_VALUES = 1_000;
const PART_BYTES = 64 * 1_024;

/** Payload bytes after a head byte of 0xc0 or above, for types of fixed length. */
const FIXED: Readonly<Record<number, number>> = {
  192: 0, // nil
  194: 0, // false
  195: 0, // true
  202: 4, // float 32
  203: 8, // float 64
  204: 1, // uint 8
  205: 2,
  206: 4,
  207: 8,
  208: 1, // int 8
  209: 2,
  210: 4,
  211: 8,
  212: 2, // ext of 1 byte, with its type
  213: 3,
  214: 5,
  215: 9,
  216: 17,
};

/** Heads followed by a length field: its width in bytes, and the extra bytes of the value. */
const COUNTED: Readonly<Record<number, { readonly width: 1 | 2 | 4; readonly extra: number }>> = {
  196: { width: 1, extra: 0 }, // bin
  197: { width: 2, extra: 0 },
  198: { width: 4, extra: 0 },
  199: { width: 1, extra: 1 }, // ext, with its type
  200: { width: 2, extra: 1 },
  201: { width: 4, extra: 1 },
  217: { width: 1, extra: 0 }, // str
  218: { width: 2, extra: 0 },
  219: { width: 4, extra: 0 },
};

/** Lists and maps followed by a size field: its width in bytes, and the values per item. */
const CONTAINERS: Readonly<Record<number, { readonly width: 2 | 4; readonly values: 1 | 2 }>> = {
  220: { width: 2, values: 1 },
  221: { width: 4, values: 1 },
  222: { width: 2, values: 2 },
  223: { width: 4, values: 2 },
};

/**
 * Yields the bytes of one value in parts that decode quickly, each checked first. Returns false if the bytes
 * are not exactly one complete value, or if it exceeds the limits above.
 */
export function* msgpackParts(bytes: Uint8Array): Generator<Uint8Array, boolean> {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Values still expected, by depth. */
  const open = [1];
  let [at, from, values] = [0, 0, 0];
  while (open.length > 0) {
    const left = open.at(-1) ?? 0;
    if (left === 0) {
      open.pop();
      continue;
    }
    open[open.length - 1] = left - 1;
    const value = readHead(view, at);
    values += 1;
    if (value === null || values > MAX_VALUES || isTooMuch(view, at, value)) return false;
    at = value.end;
    if (value.values > 0 && open.push(value.values) > MAX_DEPTH) return false;
    if (values % PART_VALUES !== 0 && at - from < PART_BYTES) continue;
    yield bytes.subarray(from, at);
    from = at;
  }
  // A truncated value would end beyond the last byte.
  if (at !== view.length) return false;
  if (at > from) yield bytes.subarray(from);
  return true;
}

function isTooMuch(view: Buffer, at: number, { end, values }: Head): boolean {
  return values > 2 * MAX_ITEMS || (view[at] === LONG_TEXT && end - at > MAX_TEXT_BYTES);
}

/** End of a value, not including nested values, and the number of those. */
interface Head {
  readonly end: number;
  readonly values: number;
}

/** Reads the head of the value at this position; null for an invalid head or a truncated length. */
function readHead(view: Buffer, at: number): Head | null {
  const head = view[at];
  if (head === undefined) return null;
  const end = at + 1;
  if (head < 0x80 || head >= 0xe0) return { end, values: 0 };
  if (head < 0x90) return { end, values: 2 * (head & 0x0f) };
  if (head < 0xa0) return { end, values: head & 0x0f };
  if (head < 0xc0) return { end: end + (head & 0x1f), values: 0 };
  const fixed = FIXED[head];
  if (fixed !== undefined) return { end: end + fixed, values: 0 };
  const { width, values = 0, extra = 0 } = { ...COUNTED[head], ...CONTAINERS[head] };
  if (width === undefined || end + width > view.length) return null;
  const length = view.readUIntBE(end, width);
  return values > 0
    ? { end: end + width, values: values * length }
    : { end: end + width + extra + length, values: 0 };
}

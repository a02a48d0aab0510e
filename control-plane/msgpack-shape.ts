/**
 * Looks a MessagePack value over before it is decoded: a list says how long it is before its items come, and the decoder makes room for them at once, so that
 * a few bytes could ask for gigabytes. Nothing is allocated here. Pure.
 */

/** Items of one list or map: more than any request has. */
const MOST_ITEMS = 10_000;
/** Lists and maps inside each other: more than any request has. */
const MOST_DEPTH = 16;

/** Bytes that follow a head of 0xc0 and above, its length included; the lengths of the others are in the data. */
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

/** Heads whose length follows them: the bytes it takes, and what comes beside it. */
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

/** Lists and maps whose size follows: the bytes it takes, and the values of one item. */
const CONTAINERS: Readonly<Record<number, { readonly width: 2 | 4; readonly values: 1 | 2 }>> = {
  220: { width: 2, values: 1 },
  221: { width: 4, values: 1 },
  222: { width: 2, values: 2 },
  223: { width: 4, values: 2 },
};

/** True for one whole value that is neither deeper nor longer than a request can be. */
export function isReasonableMsgpack(bytes: Uint8Array): boolean {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Values still to come, by depth. */
  const open = [1];
  let at = 0;
  while (open.length > 0) {
    const left = open.at(-1) ?? 0;
    if (left === 0) {
      open.pop();
      continue;
    }
    open[open.length - 1] = left - 1;
    const value = readHead(view, at);
    if (value === null || value.end > view.length || value.values > 2 * MOST_ITEMS) return false;
    at = value.end;
    if (value.values > 0 && open.push(value.values) > MOST_DEPTH) return false;
  }
  return at === view.length;
}

/** Where the value that begins here ends, not counting the values inside it; null for what MessagePack does not have, or where its length is cut off. */
function readHead(view: Buffer, at: number): { readonly end: number; readonly values: number } | null {
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
  return values > 0 ? { end: end + width, values: values * length } : { end: end + width + extra + length, values: 0 };
}

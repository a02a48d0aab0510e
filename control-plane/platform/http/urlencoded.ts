/**
 * Parses URL-encoded forms, `a=1&b=2` (URL standard, "application/x-www-form-urlencoded parsing"), in steps:
 * a long form takes tens of milliseconds.
 */
import { fault } from '#config/errors.ts';
import { byName, MAX_PARTS } from './form-fields.ts';

const STEP_BYTES = 64 * 1_024;
const [AND, EQUALS, PERCENT, PLUS, BLANK] = [0x26, 0x3d, 0x25, 0x2b, 0x20];

/**
 * Yields between short steps and returns the fields by name. Throws `too_large` if the form has too many
 * fields.
 */
export function* readingUrlencoded(bytes: Uint8Array): Generator<void, Record<string, unknown>> {
  const fields: [string, string][] = [];
  let [parts, steppedAt] = [0, 0];
  for (let from = 0; from <= bytes.length; ) {
    const next = bytes.indexOf(AND, from);
    const field = bytes.subarray(from, next === -1 ? bytes.length : next);
    parts += 1;
    if (parts > MAX_PARTS) throw fault('too_large');
    const equals = field.indexOf(EQUALS);
    const name = equals === -1 ? field : field.subarray(0, equals);
    if (field.length > 0)
      fields.push([yield* decoding(name), yield* decoding(field.subarray(name.length + 1))]);
    from += field.length + 1;
    if (from - steppedAt < STEP_BYTES) continue;
    steppedAt = from;
    yield;
  }
  return byName(fields);
}

/** Decodes a name or a value. */
function* decoding(written: Uint8Array): Generator<void, string> {
  const read = yield* unescaping(written);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let text = '';
  for (let at = 0; at < read.length; at += STEP_BYTES) {
    if (at > 0) yield;
    text += decoder.decode(read.subarray(at, at + STEP_BYTES), { stream: true });
  }
  return text + decoder.decode();
}

/** Decodes `+` as a space and `%41` as A; an invalid escape is kept as is. */
function* unescaping(written: Uint8Array): Generator<void, Uint8Array> {
  const read = Buffer.alloc(written.length);
  let length = 0;
  for (let at = 0; at < written.length; at++) {
    const byte = written[at] ?? 0;
    const escaped = byte === PERCENT ? 16 * hexOf(written[at + 1]) + hexOf(written[at + 2]) : Number.NaN;
    if (!Number.isNaN(escaped)) at += 2;
    read[length] = byte === PLUS ? BLANK : Number.isNaN(escaped) ? byte : escaped;
    length += 1;
    if (length % STEP_BYTES === 0) yield;
  }
  return read.subarray(0, length);
}

/** NaN if the byte is not a hexadecimal digit. */
function hexOf(byte: number | undefined): number {
  if (byte === undefined) return Number.NaN;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

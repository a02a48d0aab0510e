/**
 * Counts the values in a JSON text without parsing it. A few bytes of brackets take fifty times their size
 * once parsed, which would be too much for a large body. Pure.
 */

const [QUOTE, COMMA, OPEN_LIST, BACKSLASH, OPEN_OBJECT] = [0x22, 0x2c, 0x5b, 0x5c, 0x7b];

/**
 * True if the text contains more than `most` lists, objects and items in total; string contents are skipped.
 */
export function hasMoreValuesThan(text: string, most: number): boolean {
  let count = 0;
  for (let at = 0; at < text.length && count <= most; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA || code === OPEN_LIST || code === OPEN_OBJECT) count++;
  }
  return count > most;
}

/** Index of the closing quote of the string starting here, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}

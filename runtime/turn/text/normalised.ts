/** The form in which words are compared everywhere. */

/** Fast path: plain ASCII needs no Unicode normalisation, and this runs for every interim transcript. */
const ASCII = /^[ -~]*$/;
/** A word without punctuation. */
const BARE = /^[a-z0-9]*$/i;

/** Normalises words for comparison: case, punctuation and spacing do not count. */
export function normalised(text: string): string {
  let words = '';
  for (const token of (ASCII.test(text) ? text : text.normalize('NFC')).toLowerCase().split(/\s+/)) {
    const word = bare(token);
    if (word !== '') words = words === '' ? word : `${words} ${word}`;
  }
  return words;
}

/** The words of a text in lower case, without surrounding punctuation. */
export function bareWords(text: string): string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .map(bare)
    .filter((word) => word !== '');
}

/** Without accents, and with ss for ß: recognisers differ in both. */
export function withoutAccents(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('ß', 'ss');
}

/** A word without surrounding punctuation; combining vowel signs and accents stay. */
export function bare(token: string): string {
  if (BARE.test(token)) return token;
  return token
    .replace(/^[^\p{L}\p{N}+@]+/u, '')
    .replace(/(?<![^\p{L}\p{N}\p{M}@])[^\p{L}\p{N}\p{M}@]+$/u, '');
}

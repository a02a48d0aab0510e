/** Words as they are compared, wherever a transcript is. */

/** Words as they are compared: case, punctuation and spacing do not count. */
export function normalised(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .split(/\s+/)
    .map(bare)
    .filter((token) => token !== '')
    .join(' ');
}

/** A word without the marks around it; vowel signs and accents that follow a letter are part of it. */
export function bare(token: string): string {
  return token.replace(/^[^\p{L}\p{N}+@]+|[^\p{L}\p{N}\p{M}@]+$/gu, '');
}

/** Words as they are compared, wherever a transcript is. */

/** Words as they are compared: case, punctuation and spacing do not count. */
export function normalised(text: string): string {
  return text
    .toLowerCase()
    .split(/\s+/)
    .map(bare)
    .filter((token) => token !== '')
    .join(' ');
}

/** A word without the marks around it. */
export function bare(token: string): string {
  return token.replace(/^[^\p{L}\p{N}+@]+|[^\p{L}\p{N}@]+$/gu, '');
}

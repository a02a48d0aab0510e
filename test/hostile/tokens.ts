/** Tokens that are repeated to form hostile text. */
export const HOSTILE_TOKENS: Readonly<Record<string, string>> = {
  'angle brackets': '<',
  quotes: '"',
  dots: '.',
  blanks: ' ',
  'square brackets': '[',
  braces: '{',
  'placeholders that never end': '{{ ',
  'names of a form': 'a&',
  commas: ',',
  semicolons: ';',
  parentheses: '(',
  backslashes: '\\',
  'combining marks': '\u0301',
  'halves of surrogate pairs': '\ud83d',
};

/** Input length for fields and parsers without their own limit. */
export const USUAL_CHARS = 60_000;

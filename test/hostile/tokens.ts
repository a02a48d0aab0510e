/** What hostile text is made of: one of these over and over. */
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

/** Where a field or a parser has no limit of its own, it is fed this many characters. */
export const USUAL_CHARS = 60_000;

/** Text of the API's description in comments. */

/** Breaks a text into lines of at most `columns`, at its spaces. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter(Boolean)) {
    if (line !== '' && line.length + word.length + 1 > columns) {
      lines.push(line);
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}

/** A list in brackets, on one line if it fits into `columns`. `head` is what stands before it on the line. */
export function inBrackets(
  head: string,
  items: readonly string[],
  { indent, columns, brackets = '()' }: { indent: string; columns: number; brackets?: '()' | '{}' | '[]' },
): string {
  const [open = '', close = ''] = brackets;
  const pad = brackets === '{}' && items.length > 0 ? ' ' : '';
  const line = `${head}${open}${pad}${items.join(', ')}${pad}${close}`;
  if (line.length <= columns && !line.includes('\n')) return line;
  return `${head}${open}\n${items.map((item) => `${indent}  ${item},\n`).join('')}${indent}${close}`;
}

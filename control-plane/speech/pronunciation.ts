/** Pronunciation dictionaries (supplement 4.9): parts of the text are replaced by how they are said; at each place the longest entry wins, from left to right. Pure. */

/** One entry. */
export interface PronunciationItem {
  readonly key: string;
  readonly value: string;
  readonly case_sensitive: boolean;
}

/** The text with every entry put in its place; what was put in is not looked at again. */
export function pronounce(text: string, items: readonly PronunciationItem[]): string {
  if (items.length === 0) return text;
  const byFirst = new Map<string, PronunciationItem[]>();
  for (const item of [...items].sort((a, b) => b.key.length - a.key.length)) {
    const first = item.key.charAt(0).toLowerCase();
    byFirst.set(first, [...(byFirst.get(first) ?? []), item]);
  }
  let said = '';
  for (let at = 0; at < text.length; ) {
    const item = byFirst.get(text.charAt(at).toLowerCase())?.find((candidate) => matches(text, at, candidate));
    said += item ? item.value : text.charAt(at);
    at += item ? item.key.length : 1;
  }
  return said;
}

function matches(text: string, at: number, { key, case_sensitive }: PronunciationItem): boolean {
  const found = text.slice(at, at + key.length);
  return case_sensitive ? found === key : found.toLowerCase() === key.toLowerCase();
}

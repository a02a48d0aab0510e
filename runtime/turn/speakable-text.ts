/**
 * From what a model writes to what a voice reads. `readable` takes away what is only for eyes (markdown, emoji): this is what the transcript shows.
 * `speakable` words what voices read badly (addresses, long numbers) and remembers which spoken words stand for which written one. Pure.
 */

/** A written word and the stretch of the spoken text that stands for it; indexes are exclusive at the end. */
export interface WordSpan {
  readonly textEnd: number;
  readonly spokenStart: number;
  readonly spokenEnd: number;
}

/** A text as it is handed to a voice. */
export interface SpeakableText {
  readonly spoken: string;
  readonly words: readonly WordSpan[];
}

/** The text without markdown and pictures, on one line. */
export function readable(text: string): string {
  return text
    .replace(/```[\s\S]*?```/g, ' ')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s{0,3}#{1,6}\s+/gm, '')
    .replace(/^\s*[-*+•]\s+/gm, '')
    .replace(/^\s*>\s?/gm, '')
    .replace(/^\s*\|?[\s:|-]+\|?\s*$/gm, '')
    .replace(/\*{1,3}(\S(?:[^*]*\S)?)\*{1,3}/g, '$1')
    .replace(/(^|\s)_{1,2}(\S(?:[^_]*\S)?)_{1,2}(?=\s|[.,!?;:]|$)/g, '$1$2')
    .replace(/[*`~|]+/g, ' ')
    .replace(/\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u{FE0F}|\u{200D}/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Words the written text for a voice, word by word. */
export function speakable(text: string): SpeakableText {
  const words: WordSpan[] = [];
  let spoken = '';
  for (const match of text.matchAll(/\S+/g)) {
    if (spoken !== '') spoken += ' ';
    const spokenStart = spoken.length;
    spoken += spokenWord(match[0]);
    words.push({ textEnd: match.index + match[0].length, spokenStart, spokenEnd: spoken.length });
  }
  return { spoken, words };
}

function spokenWord(word: string): string {
  const [, opening = '', core = '', closing = ''] = /^(["'(]*)(.*?)([.,!?;:"')]*)$/.exec(word) ?? [];
  return opening + spokenCore(core) + closing;
}

function spokenCore(core: string): string {
  if (/^[\w.+-]+@[\w-]+(\.[\w-]+)+$/.test(core)) return spokenAddress(core);
  if (/^(https?:\/\/|www\.)\S+$/i.test(core)) return spokenAddress(core.replace(/^https?:\/\//i, '').replace(/\/$/, ''));
  if (/^\+?\d[\d-]{4,}$/.test(core)) return spokenDigits(core);
  if (core === '&') return 'and';
  if (/^\d+([.,]\d+)?%$/.test(core)) return `${core.slice(0, -1)} percent`;
  return core;
}

function spokenAddress(address: string): string {
  return address
    .replaceAll('@', ' at ')
    .replaceAll('.', ' dot ')
    .replaceAll('_', ' underscore ')
    .replaceAll('-', ' dash ')
    .replaceAll('/', ' slash ');
}

/** Five digits or more in a row are a code or a phone number: read one by one. */
function spokenDigits(core: string): string {
  return core.replace('+', 'plus').replaceAll('-', ', ').replace(/\d/g, ' $&').replace(/\s+/g, ' ').trim();
}

/** Syllables of a spoken word, roughly: what an unmeasured word weighs. */
export function syllables(word: string): number {
  const letters = word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  if (letters === '') return 0;
  const wide = letters.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu)?.length ?? 0;
  const digits = letters.match(/\p{N}/gu)?.length ?? 0;
  const groups = letters.replace(/[\p{N}]/gu, '').match(/[aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýœаеёиоуыэюяіїєαεηιουω]+/gu)?.length ?? 0;
  return Math.max(1, wide + digits + groups - (/[^aeiouy]e$/.test(letters) && groups > 1 ? 1 : 0));
}

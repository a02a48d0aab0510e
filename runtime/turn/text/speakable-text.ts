/**
 * Prepares a model's text for a voice. `readable` removes what is only visual (markdown, emoji): the
 * transcript shows this form. `speakable` spells out what voices read badly (spoken-forms.ts) and maps the
 * spoken words to the written ones. Pure.
 */
import { type Reading, spokenForm } from './spoken-forms.ts';

/** A written word and its range in the spoken text; the end is exclusive. */
export interface WordSpan {
  readonly textEnd: number;
  readonly spokenStart: number;
  readonly spokenEnd: number;
}

/** A text in the form a voice gets. */
export interface SpeakableText {
  readonly spoken: string;
  readonly words: readonly WordSpan[];
}

/** Characters of markdown and pictures. */
const FOR_EYES = /[`[#*+•>|_~:-]|\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u{FE0F}|\u{200D}/u;

/** The text without markdown and pictures, on one line. */
export function readable(text: string): string {
  return (FOR_EYES.test(text) ? plain(text) : text).replace(/\s+/g, ' ').trim();
}

function plain(text: string): string {
  return text
    .replace(/```[\s\S]*?```/g, ' ')
    .replace(/!?\[([^[\]]*)\]\([^)[]*\)/g, '$1')
    .replace(/^\s{0,3}#{1,6}\s+/gm, '')
    .replace(/^[^\S\n\r\u2028\u2029]*[-*+•]\s+/gm, '')
    .replace(/^[^\S\n\r\u2028\u2029]*>\s?/gm, '')
    .replace(/^[\s:|-]+$/gm, '')
    .replace(/\*{1,3}(\S(?:[^*]*\S)?)\*{1,3}/g, '$1')
    .replace(/(^|\s)_{1,2}(\S(?:[^_]*\S)?)_{1,2}(?=\s|[.,!?;:]|$)/g, '$1$2')
    .replace(/[*`~|]+/g, ' ')
    .replace(/\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u{FE0F}|\u{200D}/gu, '');
}

/** Spells out text for a voice, word by word; a number with its unit, or an address, is one word. */
export function speakable(text: string, reading: Reading): SpeakableText {
  const words: WordSpan[] = [];
  let spoken = '';
  const add = (textEnd: number, said: string) => {
    words.push({ textEnd, spokenStart: spoken.length, spokenEnd: spoken.length + said.length });
    spoken += said;
  };
  for (let at = text.search(/\S|$/); at < text.length; ) {
    const opening = /["'“„«([¿¡]*/y;
    opening.lastIndex = at;
    const marks = opening.exec(text)?.[0] ?? '';
    // "(415) 555-0123" begins with its bracket.
    const whole = spokenForm(text, at, reading);
    const form = whole ?? spokenForm(text, at + marks.length, reading);
    const end = nextSpace(text, form?.end ?? at);
    if (form) add(end, (whole ? '' : marks) + form.spoken + text.slice(form.end, end));
    else
      for (const part of unspacedWords(text.slice(at, end), reading.language)) add(at + part.end, part.word);
    at = end + text.slice(end).search(/\S|$/);
    if (at < text.length) spoken += text.slice(end, at);
  }
  return { spoken, words };
}

function nextSpace(text: string, from: number): number {
  return from + text.slice(from).search(/\s|$/);
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const SEGMENTERS = new Map<string, Intl.Segmenter>();

/**
 * Splits text without spaces into words: in some scripts it is a whole sentence. Punctuation belongs to the
 * preceding word.
 */
function unspacedWords(stretch: string, language: string): { word: string; end: number }[] {
  if (!UNSPACED.test(stretch)) return [{ word: stretch, end: stretch.length }];
  const segmenter = SEGMENTERS.get(language) ?? new Intl.Segmenter(language, { granularity: 'word' });
  SEGMENTERS.set(language, segmenter);
  const words: { word: string; end: number }[] = [];
  for (const { segment, index, isWordLike } of segmenter.segment(stretch)) {
    const last = words.at(-1);
    if (last && !isWordLike)
      words[words.length - 1] = { word: last.word + segment, end: index + segment.length };
    else words.push({ word: segment, end: index + segment.length });
  }
  return words;
}

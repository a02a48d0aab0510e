/**
 * What the widget says, in the visitor's language: the one asked for, or English; `text-contents` replaces
 * any of it.
 */
import { LANGUAGES, type Texts } from './languages.ts';

/** Languages written from right to left, among those an agent can speak. */
const RIGHT_TO_LEFT = new Set(['ar', 'he', 'fa', 'ur']);

/** The texts in a language (`pt-BR` is `pt`), with what the page replaces; and which way they run. */
export function textsIn(
  language: string,
  replaced: Readonly<Record<string, string>>,
): { texts: Texts; language: string; direction: 'ltr' | 'rtl' } {
  const asked = language.toLowerCase().split(/[-_]/)[0] ?? '';
  const spoken = asked in LANGUAGES ? asked : 'en';
  const texts = { ...(LANGUAGES[spoken] ?? LANGUAGES['en']), ...replaced } as Texts;
  return { texts, language: spoken, direction: RIGHT_TO_LEFT.has(spoken) ? 'rtl' : 'ltr' };
}

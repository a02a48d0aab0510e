/** The widget's texts in the visitor's language, or in English; `text-contents` can replace each of them. */

import type { Texts } from './languages/texts.ts';
import { LANGUAGES } from './languages.ts';

/** Right-to-left languages among those that an agent can speak. */
const RIGHT_TO_LEFT = new Set(['ar', 'he', 'fa', 'ur']);

/**
 * Returns the texts of a language (`pt-BR` counts as `pt`) with the page's replacements, and their direction.
 */
export function textsIn(
  language: string,
  replaced: Readonly<Record<string, string>>,
): { texts: Texts; language: string; direction: 'ltr' | 'rtl' } {
  const asked = language.toLowerCase().split(/[-_]/)[0] ?? '';
  const spoken = asked in LANGUAGES ? asked : 'en';
  const texts = { ...(LANGUAGES[spoken] ?? LANGUAGES['en']), ...replaced } as Texts;
  return { texts, language: spoken, direction: RIGHT_TO_LEFT.has(spoken) ? 'rtl' : 'ltr' };
}

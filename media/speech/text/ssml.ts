/** Writes SSML (W3C Speech Synthesis Markup Language 1.1) so that a text is spoken, and never is markup. */

/** Characters that XML 1.0 forbids (section 2.2, "Characters"). */
const FORBIDDEN = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** A text as content or as the value of an attribute; characters that XML forbids become spaces. */
export function xmlText(text: string): string {
  return text.replace(FORBIDDEN, ' ').replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '');
}

/** An element around markup; the markup alone if there are no attributes. */
export function ssmlElement(
  name: string,
  attributes: Readonly<Record<string, string>> | null,
  markup: string,
): string {
  if (attributes === null) return markup;
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${xmlText(value)}"`);
  return `<${name}${written.join('')}>${markup}</${name}>`;
}

/** Helpers for the page's elements; everything of the call enters it as text. */
import { element } from '../widget/dom.ts';

/** A card with a heading. */
export function section(title: string, ...children: readonly (Node | string)[]): HTMLElement {
  return element('section', { class: 'card', 'aria-label': title }, element('h2', {}, title), ...children);
}

/** Terms and their values. */
export function facts(rows: Readonly<Record<string, string>>): HTMLElement {
  const entries = Object.entries(rows).filter(([, value]) => value !== '');
  return element(
    'dl',
    {},
    ...entries.flatMap(([term, value]) => [element('dt', {}, term), element('dd', {}, value)]),
  );
}

/** A coloured square before a label. */
export function swatch(color: string): HTMLElement {
  const node = element('span', { class: 'swatch', 'aria-hidden': 'true' });
  node.style.background = color;
  return node;
}

/** The transcript as a list that is updated line by line, to make screen readers announce only new text. */
import type { TranscriptSegment } from '../client/transcript.ts';
import { element } from './dom.ts';
import type { Texts } from './languages/texts.ts';

/** A transcript list. */
export class TranscriptLog {
  readonly node = element('div', { class: 'log', part: 'transcript', role: 'log', tabindex: '0' });
  readonly #items = new Map<string, { readonly item: HTMLParagraphElement; readonly text: Text }>();

  /**
   * Shows these lines. With `isSpoken`, screen readers announce nothing, to avoid talking over the agent's
   * voice.
   */
  show(lines: readonly TranscriptSegment[], texts: Texts, isSpoken: boolean): void {
    this.node.setAttribute('aria-label', texts.transcript);
    this.node.setAttribute('aria-live', isSpoken ? 'off' : 'polite');
    const shown = new Set<string>();
    let hasGrown = false;
    for (const line of lines) {
      const key = `${line.role} ${line.segmentId}`;
      shown.add(key);
      const entry = this.#items.get(key) ?? this.#append(key, line.role, texts);
      if (entry.text.data === line.text) continue;
      entry.text.data = line.text;
      hasGrown = true;
    }
    for (const [key, { item }] of this.#items)
      if (!shown.has(key)) {
        item.remove();
        this.#items.delete(key);
      }
    this.node.hidden = lines.length === 0;
    if (hasGrown) this.node.lastElementChild?.scrollIntoView({ block: 'nearest' });
  }

  #append(
    key: string,
    role: 'user' | 'agent',
    texts: Texts,
  ): { readonly item: HTMLParagraphElement; readonly text: Text } {
    const text = new Text();
    const name = element('span', { class: 'name' }, `${role === 'user' ? texts.you : texts.agent}: `);
    const item = element('p', { class: role, part: `line ${role}`, dir: 'auto' }, name, text);
    this.node.append(item);
    const entry = { item, text };
    this.#items.set(key, entry);
    return entry;
  }
}

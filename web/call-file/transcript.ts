/** The transcript as heard, in step with the sound; a line plays from where it was said. */
import { startOf } from '../console/src/calls/linked-moment.ts';
import { timeOfDay, words } from '../console/src/parts/format.ts';
import { button, element } from '../widget/dom.ts';
import { section } from './dom.ts';
import type { Playhead } from './playhead.ts';
import type { CallItem, ShownCall } from './read-call.ts';

const SPEAKERS = { user: 'Caller', assistant: 'Agent', human: 'Colleague' } as const;

interface Drawn {
  readonly node: HTMLElement;
  draw(): void;
}

/** Creates the transcript; the function marks the line at the position. */
export function transcript({ lines, turns }: ShownCall, playhead: Playhead): Drawn {
  const said: { readonly atMs: number; readonly node: HTMLElement }[] = [];
  const list = element('ol', { class: 'transcript', 'aria-label': 'Transcript' });
  for (const line of lines) {
    const atMs = line ? startOf(line, { turns }) : 0;
    const node = line ? lineNode(line, () => playFrom(playhead, atMs)) : redacted('A redacted line');
    if (line?.type === 'message') said.push({ atMs, node });
    list.append(element('li', {}, node));
  }
  if (lines.length === 0) list.append(element('li', { class: 'muted' }, 'Nothing was said.'));
  let current: HTMLElement | null = null;
  return {
    node: section('Transcript, as it was heard', list),
    draw: () => {
      const next = said.findLast(({ atMs }) => atMs <= playhead.atMs)?.node ?? null;
      if (next === current) return;
      current?.removeAttribute('aria-current');
      next?.setAttribute('aria-current', 'true');
      current = next;
    },
  };
}

/** A place from which something was taken out. */
export function redacted(text: string): HTMLElement {
  return element('div', { class: 'redacted' }, text);
}

function playFrom(playhead: Playhead, atMs: number): void {
  playhead.goTo(atMs);
  void playhead.play();
}

function lineNode(item: CallItem, onPress: () => void): HTMLElement {
  if (item.type !== 'message') return element('div', { class: 'note' }, noteText(item));
  const head = `${SPEAKERS[item.role]} · ${timeOfDay(item.created_at)}`;
  const parts = [element('span', { class: 'small muted' }, head), element('br'), item.content];
  const node = button('said', onPress, ...parts);
  node.dataset['speaker'] = item.role;
  return node;
}

function noteText(item: Exclude<CallItem, { readonly type: 'message' }>): string {
  const time = timeOfDay(item.created_at);
  switch (item.type) {
    case 'tool_call':
      return `${time} · Tool ${item.tool_name} called with ${item.input}`;
    case 'tool_result':
      return `${time} · Tool ${item.tool_name} ${item.status}: ${item.output ?? item.error ?? ''}`;
    case 'knowledge_retrieval':
      return `${time} · Knowledge searched for “${item.query}”`;
    case 'participant':
      return `${time} · ${item.name ?? 'A colleague'}: ${words(item.event)}`;
    case 'llm.endpoint_error':
      return `${time} · The model failed: ${item.message}`;
  }
}

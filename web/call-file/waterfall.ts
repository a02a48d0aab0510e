/** The latency waterfall: the parts of each turn's time until the agent was heard. */
import { PARTS } from '../console/src/calls/slowest-turn.ts';
import { milliseconds, timeOfDay } from '../console/src/parts/format.ts';
import { button, element } from '../widget/dom.ts';
import { section, swatch } from './dom.ts';
import type { Playhead } from './playhead.ts';
import type { CallTurn } from './read-call.ts';

/** Creates the waterfall. */
export function waterfall(turns: readonly CallTurn[], playhead: Playhead): HTMLElement {
  const scaleMs = Math.max(1, ...turns.map(({ total_ms }) => total_ms));
  const legend = element('p', { class: 'row small' });
  for (const [, label, color] of PARTS) legend.append(element('span', {}, swatch(color), ` ${label}`));
  if (turns.length === 0) legend.replaceChildren('No spoken turn was answered.');
  return section(
    'From end of speech to first sound',
    legend,
    element('ul', { class: 'turns' }, ...turns.map((turn) => turnRow(turn, scaleMs, playhead))),
  );
}

function turnRow(turn: CallTurn, scaleMs: number, playhead: Playhead): HTMLElement {
  const endMs = Date.parse(turn.speech_ended_at);
  const parts = PARTS.filter(([name]) => turn[name] > 0);
  const told = parts.map(([name, label]) => `${label} ${milliseconds(turn[name])}`).join(', ');
  const bar = element('div', { class: 'bar', role: 'img', 'aria-label': told, title: told });
  for (const [name, , color] of parts) {
    const part = element('span');
    part.style.width = `${(turn[name] / scaleMs) * 100}%`;
    part.style.background = color;
    bar.append(part);
  }
  const name = `Turn ${turn.turn_id}, ${timeOfDay(turn.speech_ended_at)}`;
  const go = button('seek', () => playhead.goTo(endMs), name);
  const total = element('span', { class: 'tabular' }, milliseconds(turn.total_ms));
  return element(
    'li',
    {},
    element('div', { class: 'row small' }, go, total, element('span', { class: 'muted' }, turn.explanation)),
    bar,
  );
}

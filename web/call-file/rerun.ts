/** Settings that run the call again in this page, up to the first difference. */
import { turnSettings } from '../../protocol/conversation-settings.ts';
import type { ReplaySettings } from '../../protocol/replay.ts';
import type { TurnConfig } from '../../runtime/turn/machine/turn-config.ts';
import { CONVERSATION_BOUNDS } from '../console/src/api/types.ts';
import { DEEDS } from '../console/src/calls/deeds.ts';
import { milliseconds, percent, tenthsOfDay } from '../console/src/parts/format.ts';
import { button, element } from '../widget/dom.ts';
import { section } from './dom.ts';
import { type Difference, firstDifference, type MachineRun } from './machine-run.ts';

const STEP_MS = 50;

interface Field {
  readonly node: HTMLElement;
  /** Shows the call's own value again. */
  reset(): void;
}

/** Creates the form; `onResult` gets the first difference, or null. */
export function rerun(
  { logs }: MachineRun,
  onResult: (difference: Difference | null) => void,
  onSeek: (atMs: number) => void,
): HTMLElement {
  const own = logs[0]?.header.config;
  const outcome = element('div', { role: 'status' });
  if (!own) return section('With other settings', outcome);
  let changes: ReplaySettings = {};
  const run = () => {
    const isChanged = Object.keys(changes).length > 0;
    const difference = isChanged ? firstDifference(logs, turnSettings(changes)) : null;
    onResult(difference);
    outcome.replaceChildren(...(isChanged ? outcomeNodes(difference, onSeek) : []));
  };
  const change = (patch: ReplaySettings) => {
    changes = { ...changes, ...patch };
    run();
  };
  const fields = fieldsOf(own, change);
  const resetAll = () => {
    changes = {};
    for (const field of fields) field.reset();
    run();
  };
  return section(
    'With other settings',
    element('p', { class: 'small muted' }, 'The turn machine runs the call again in this page.'),
    element('div', { class: 'fields' }, ...fields.map(({ node }) => node)),
    element('p', {}, button('reset', resetAll, 'The call’s own settings')),
    outcome,
  );
}

function fieldsOf(own: TurnConfig, change: (patch: ReplaySettings) => void): readonly Field[] {
  return [
    slider(
      'Wait after the caller’s words',
      { ...CONVERSATION_BOUNDS.response_wait_ms, value: own.responseWaitMs },
      (ms) => change({ response_wait_ms: ms }),
    ),
    slider(
      'Longest wait',
      {
        ...CONVERSATION_BOUNDS.response_max_wait_ms,
        value: own.responseMaxWaitMs,
        unset: 'follows the caller’s pauses',
      },
      (ms) => change({ response_max_wait_ms: ms }),
    ),
    choice('Eagerness', ['relaxed', 'balanced', 'eager'], own.eagerness, (eagerness) =>
      change({ eagerness }),
    ),
    choice('Interruptions', ['yes', 'no'], own.interruptible ? 'yes' : 'no', (answer) =>
      change({ interruptible: answer === 'yes' }),
    ),
    choice('Sensitivity to interruptions', ['low', 'balanced', 'high'], own.sensitivity, (sensitivity) =>
      change({ interruption_sensitivity: sensitivity }),
    ),
  ];
}

interface Range {
  readonly minimum: number;
  readonly maximum: number;
  readonly value: number | null;
  /** Shown for the value null. */
  readonly unset?: string;
}

function slider(
  label: string,
  { minimum, maximum, value, unset }: Range,
  onChange: (ms: number) => void,
): Field {
  const shown = element('span', { class: 'small muted tabular' });
  const input = element('input', { type: 'range', 'aria-label': label });
  Object.assign(input, { min: String(minimum), max: String(maximum), step: String(STEP_MS) });
  const show = (text: string) => {
    shown.textContent = text;
    input.setAttribute('aria-valuetext', text);
  };
  const reset = () => {
    input.value = String(value ?? maximum);
    show(value === null ? (unset ?? '') : milliseconds(value));
  };
  // Each step of the slider runs the whole call: only where it is let go, or moved by a key.
  input.addEventListener('input', () => show(milliseconds(Number(input.value))));
  input.addEventListener('change', () => onChange(Number(input.value)));
  reset();
  return { node: element('label', {}, element('span', {}, `${label} `, shown), input), reset };
}

function choice<Value extends string>(
  label: string,
  values: readonly Value[],
  own: Value,
  onChange: (value: Value) => void,
): Field {
  const select = element('select', { 'aria-label': label });
  for (const value of values) select.append(element('option', { value }, value));
  const reset = () => {
    select.value = own;
  };
  select.addEventListener('change', () => onChange(select.value as Value));
  reset();
  return { node: element('label', {}, element('span', {}, label), select), reset };
}

function outcomeNodes(difference: Difference | null, onSeek: (atMs: number) => void): Node[] {
  if (!difference) return [element('p', {}, 'No noticeable difference: the call would have been the same.')];
  const { atMs, was, wouldBe, judged } = difference;
  const told = (moment: Difference['was']) =>
    moment
      ? `${tenthsOfDay(new Date(moment.atMs).toISOString())}, ${DEEDS[moment.did]}`
      : 'nothing more happened';
  return [
    element(
      'div',
      { class: 'divergence' },
      element('p', {}, `In the call: ${told(was)}.`),
      element('p', {}, `With these settings: ${told(wouldBe)}.`),
      element(
        'p',
        { class: 'small muted' },
        `The rest belongs to a different call: ${percent(judged)} of this one was the same.`,
      ),
      button('seek', () => onSeek(atMs), 'Go there'),
    ),
  ];
}

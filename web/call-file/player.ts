/** The recording: both waveforms, a slider, play and speed. */
import { type DecodedRecording, STEP_MS } from '../console/src/calls/decode-recording.ts';
import { duration } from '../console/src/parts/format.ts';
import { button, element } from '../widget/dom.ts';
import { section, swatch } from './dom.ts';
import type { Playhead } from './playhead.ts';

const SPEEDS = ['0.75', '1', '1.25', '1.5', '2'];
const HEIGHT = 132;

/** Marks in the waveform beside the position. */
export interface PlayerMarks {
  /** Where a run with other settings differs, wall time in ms; null without one. */
  divergesAtMs: number | null;
}

/** Creates the player; the function draws it again. */
export function player(
  playhead: Playhead,
  recording: DecodedRecording | null,
  marks: PlayerMarks,
): { readonly node: HTMLElement; draw(): void } {
  const lengthMs = playhead.endMs - playhead.startMs;
  const canvas = element('canvas', { 'aria-hidden': 'true' });
  const slider = element('input', { type: 'range', 'aria-label': 'Position in the call' });
  Object.assign(slider, { min: '0', max: String(Math.ceil(lengthMs)), step: '10' });
  slider.addEventListener('input', () => playhead.goTo(playhead.startMs + Number(slider.value)));
  const toggle = button('main', () => (playhead.isPlaying ? playhead.pause() : void playhead.play()), 'Play');
  toggle.disabled = !playhead.hasSound;
  const time = element('span', { class: 'tabular' });
  canvas.addEventListener('pointerdown', ({ clientX }) => {
    const box = canvas.getBoundingClientRect();
    playhead.goTo(playhead.startMs + ((clientX - box.left) / box.width) * lengthMs);
  });
  const draw = () => {
    const positionMs = playhead.atMs - playhead.startMs;
    slider.value = String(positionMs);
    const words = `${duration(positionMs / 1_000)} of ${duration(lengthMs / 1_000)}`;
    slider.setAttribute('aria-valuetext', words);
    time.textContent = words;
    toggle.textContent = playhead.isPlaying ? 'Pause' : 'Play';
    drawWaveform(canvas, { playhead, recording, marks });
  };
  addEventListener('resize', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  const node = section(
    playhead.hasSound ? 'Recording' : 'Course of the call (without sound)',
    element(
      'p',
      { class: 'row small muted' },
      swatch('var(--user)'),
      'Caller, above the line',
      swatch('var(--agent)'),
      'Agent, below',
    ),
    canvas,
    element('div', { class: 'row' }, toggle, slider, time, speedChoice(playhead)),
  );
  return { node, draw };
}

function speedChoice(playhead: Playhead): HTMLElement {
  const speed = element('select', { 'aria-label': 'Speed' });
  for (const rate of SPEEDS)
    speed.append(element('option', { value: rate, selected: rate === '1' }, `${rate} ×`));
  speed.addEventListener('change', () => {
    playhead.speed = Number(speed.value);
  });
  return speed;
}

function drawWaveform(
  canvas: HTMLCanvasElement,
  shown: {
    readonly playhead: Playhead;
    readonly recording: DecodedRecording | null;
    readonly marks: PlayerMarks;
  },
): void {
  const { playhead, recording, marks } = shown;
  const width = canvas.clientWidth;
  const context = canvas.getContext('2d');
  if (!context || width === 0) return;
  canvas.width = width * devicePixelRatio;
  canvas.height = HEIGHT * devicePixelRatio;
  context.scale(devicePixelRatio, devicePixelRatio);
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const x = (atMs: number) => ((atMs - playhead.startMs) / (playhead.endMs - playhead.startMs)) * width;
  context.fillStyle = color('--line');
  context.fillRect(0, HEIGHT / 2, width, 1);
  if (recording)
    for (const [levels, up, name] of [
      [recording.user, -1, '--user'],
      [recording.agent, 1, '--agent'],
    ] as const) {
      context.fillStyle = color(name);
      for (const [column, level] of columnsOf(levels, width, (step) => x(recording.startMs + step * STEP_MS)))
        context.fillRect(column, HEIGHT / 2, 1, (up * level * HEIGHT) / 2);
    }
  const line = (atMs: number, name: string) => {
    context.fillStyle = color(name);
    context.fillRect(Math.round(x(atMs)), 0, 2, HEIGHT);
  };
  if (marks.divergesAtMs !== null) line(marks.divergesAtMs, '--mark');
  line(playhead.atMs, '--ink');
}

/** The loudest level of each column of pixels. */
function columnsOf(levels: Float32Array, width: number, xOf: (step: number) => number): Map<number, number> {
  const columns = new Map<number, number>();
  for (const [step, level] of levels.entries()) {
    const column = Math.floor(xOf(step));
    if (column >= 0 && column < width) columns.set(column, Math.max(columns.get(column) ?? 0, level));
  }
  return columns;
}

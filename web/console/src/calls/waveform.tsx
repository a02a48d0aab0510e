/**
 * Waveform of a call: caller above the line, agent below, silences hatched, interruptions and a replay's
 * divergence marked, the position as a line. Keyboard users get a slider.
 */
import { useComputedColorScheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { type KeyboardEvent, type PointerEvent, useEffect, useRef } from 'react';
import { duration } from '../parts/format.ts';
import type { AudioEvent } from './audio-events.ts';
import type { DecodedRecording } from './decode-recording.ts';

const HEIGHT = 132;
/** Colours of the marks. */
export const EVENT_COLORS = { interruption: '#f59e0b', divergence: '#c026d3' } as const;
const KEY_STEP_MS = 5_000;

interface WaveformProps {
  readonly recording: DecodedRecording;
  readonly events: readonly AudioEvent[];
  readonly positionMs: number;
  onSeek(ms: number): void;
}

export function Waveform({ recording, events, positionMs, onSeek }: WaveformProps) {
  const { ref, width } = useElementSize();
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme('light');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read from the page and follow the scheme.
  useEffect(() => {
    const element = canvas.current;
    if (element && width > 0) draw(element, { recording, events, positionMs, width });
  }, [recording, events, positionMs, width, scheme]);
  const seekTo = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    onSeek(((event.clientX - box.left) / box.width) * recording.durationMs);
  };
  const onKey = (event: KeyboardEvent) => {
    const to = {
      ArrowLeft: positionMs - KEY_STEP_MS,
      ArrowRight: positionMs + KEY_STEP_MS,
      Home: 0,
      End: recording.durationMs,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    onSeek(to);
  };
  return (
    <div
      ref={ref}
      role="slider"
      tabIndex={0}
      aria-label="Position in the recording"
      aria-valuemin={0}
      aria-valuemax={Math.round(recording.durationMs / 1_000)}
      aria-valuenow={Math.round(positionMs / 1_000)}
      aria-valuetext={`${duration(positionMs / 1_000)} of ${duration(recording.durationMs / 1_000)}`}
      onPointerDown={seekTo}
      onKeyDown={onKey}
    >
      <canvas ref={canvas} className="waveform" aria-hidden />
    </div>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  { recording, events, positionMs, width }: Omit<WaveformProps, 'onSeek'> & { width: number },
): void {
  const scale = devicePixelRatio;
  canvas.width = width * scale;
  canvas.height = HEIGHT * scale;
  const context = canvas.getContext('2d');
  if (!context) return;
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name).trim();
  context.scale(scale, scale);
  const x = (ms: number) => (ms / recording.durationMs) * width;
  for (const { kind, atMs, durationMs } of events) {
    context.fillStyle = kind === 'silence' ? color('--line') : EVENT_COLORS[kind];
    context.globalAlpha = { silence: 0.55, interruption: 0.35, divergence: 1 }[kind];
    context.fillRect(x(atMs), 0, Math.max(2, x(durationMs)), HEIGHT);
  }
  context.globalAlpha = 1;
  drawSide(context, recording.user, { width, color: color('--user'), up: true });
  drawSide(context, recording.agent, { width, color: color('--agent'), up: false });
  context.fillStyle = color('--line');
  context.fillRect(0, HEIGHT / 2, width, 1);
  context.fillStyle = color('--mantine-color-text');
  context.fillRect(x(positionMs), 0, 2, HEIGHT);
}

/** Draws one side as bars; the height of a bar is the peak within it. */
function drawSide(
  context: CanvasRenderingContext2D,
  loudness: Float32Array,
  { width, color, up }: { width: number; color: string; up: boolean },
): void {
  context.fillStyle = color;
  const bars = Math.floor(width / 3);
  const perBar = loudness.length / bars;
  for (let bar = 0; bar < bars; bar++) {
    const level = loudness
      .subarray(
        Math.floor(bar * perBar),
        Math.max(Math.floor(bar * perBar) + 1, Math.floor((bar + 1) * perBar)),
      )
      .reduce((most, one) => Math.max(most, one), 0);
    const height = Math.max(1, Math.sqrt(level) * (HEIGHT / 2 - 4));
    context.fillRect(bar * 3, up ? HEIGHT / 2 - height : HEIGHT / 2 + 1, 2, height);
  }
}

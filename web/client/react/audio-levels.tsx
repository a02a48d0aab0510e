/** Loudness of both sides, as numbers and as bars. */
import { useContext, useEffect, useRef, useState } from 'react';
import type { AgentSession } from '../agent-session.ts';
import { ConversationContext } from './provider.tsx';

const SILENCE = { input: 0, output: 0 };
/** Part of the spectrum that contains speech; bars for the rest would never move. */
const SPEECH_SHARE = 0.3;

/**
 * Loudness of microphone and agent, 0 to 1, read `fps` times a second. Uses the provider's session by
 * default.
 */
export function useAudioLevels(
  session?: AgentSession | null,
  fps = 20,
): { readonly input: number; readonly output: number } {
  const inherited = useContext(ConversationContext)?.session ?? null;
  const watched = session === undefined ? inherited : session;
  const [levels, setLevels] = useState(SILENCE);
  useEffect(() => {
    if (!watched) return setLevels(SILENCE);
    const timer = setInterval(
      () => setLevels({ input: watched.getInputVolume(), output: watched.getOutputVolume() }),
      1_000 / fps,
    );
    return () => clearInterval(timer);
  }, [watched, fps]);
  return levels;
}

/** Appearance of the bars. */
export interface AgentVisualizerProps {
  readonly session?: AgentSession | null;
  /** Number of bars. */
  readonly bars?: number;
  /** In pixels. */
  readonly width?: number;
  readonly height?: number;
  readonly className?: string;
}

/** The agent's voice as bars in the current text colour; static with reduced motion. */
export function AgentVisualizer({
  session,
  bars = 24,
  width = 240,
  height = 64,
  className,
}: AgentVisualizerProps) {
  const inherited = useContext(ConversationContext)?.session ?? null;
  const watched = session === undefined ? inherited : session;
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    let request = 0;
    const draw = () => {
      drawBars(
        canvas.current,
        still || !watched ? new Uint8Array(0) : watched.getOutputFrequencyData(),
        bars,
      );
      if (watched && !still) request = requestAnimationFrame(draw);
    };
    draw();
    return () => cancelAnimationFrame(request);
  }, [watched, bars]);
  return <canvas ref={canvas} width={width} height={height} className={className} />;
}

function drawBars(canvas: HTMLCanvasElement | null, bins: Uint8Array, bars: number): void {
  const context = canvas?.getContext('2d');
  if (!canvas || !context) return;
  const { width, height } = canvas;
  const step = width / bars;
  const binsPerBar = (bins.length * SPEECH_SHARE) / bars;
  context.clearRect(0, 0, width, height);
  context.fillStyle = getComputedStyle(canvas).color;
  for (let bar = 0; bar < bars; bar++) {
    const loudness = (bins[Math.floor(bar * binsPerBar)] ?? 0) / 255;
    const tall = Math.max(2, loudness * height);
    context.fillRect(bar * step + step * 0.2, (height - tall) / 2, step * 0.6, tall);
  }
}

/**
 * The circle in the middle of the talk page. Pulses with the voice of the current speaker, unless the visitor
 * prefers reduced motion.
 */
import { useEffect, useRef } from 'react';
import type { AgentMode } from '../../../client/events.ts';

export function Orb({
  levels,
  mode,
  isLive,
}: {
  levels: () => { input: number; output: number };
  mode: AgentMode;
  isLive: boolean;
}) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isLive || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    let frame = 0;
    let smoothed = 0;
    const draw = () => {
      const { input, output } = levels();
      const level = mode === 'speaking' ? output : input;
      smoothed += (level - smoothed) * 0.25;
      element.current?.style.setProperty('--level', smoothed.toFixed(3));
      frame = requestAnimationFrame(draw);
    };
    frame = requestAnimationFrame(draw);
    return () => cancelAnimationFrame(frame);
  }, [levels, mode, isLive]);
  return <div ref={element} className="orb" data-mode={isLive ? mode : 'off'} aria-hidden="true" />;
}

/** The voice of a simulated caller or far end, as the detector of the leg reports it. */
import type { Random } from './random.ts';
import type { SimulatedClock } from './simulated-clock.ts';
import type { SimulatedLine } from './simulated-line.ts';

/** Lengths of voice that the agent may ask to be told of, ms. */
const REACHES_MS = [128, 256, 512, 700];

/** Words one after the other from a time on, each with its end. */
export function timedWords(
  words: readonly string[],
  wordMs: readonly [number, number],
  { random, startMs }: { readonly random: Random; readonly startMs: number },
): { text: string; endMs: number }[] {
  let endMs = startMs;
  return words.map((text) => {
    endMs += random.between(...wordMs);
    return { text, endMs };
  });
}

/** Emits the detector's events for a stretch of voice that begins now; `then` runs with the last of them. */
export function emitVoice(
  { clock, line }: { readonly clock: SimulatedClock; readonly line: SimulatedLine },
  endMs: number,
  then: () => void,
): void {
  const startMs = clock.now();
  const voicedMs = endMs - startMs;
  clock.after(64, () => line.emit({ type: 'voice.onset', atMs: startMs, decidedAtMs: clock.now() }));
  for (const reachMs of REACHES_MS.filter((ms) => ms <= voicedMs))
    clock.after(reachMs, () => {
      if (line.reachMs === reachMs)
        line.emit({ type: 'voice.reached', atMs: clock.now(), voicedMs: reachMs });
    });
  clock.after(Math.max(70, voicedMs + 100), () => {
    line.emit({ type: 'voice.offset', atMs: endMs, decidedAtMs: clock.now(), voicedMs });
    then();
  });
}

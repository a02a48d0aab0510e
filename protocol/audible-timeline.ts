/** The audible voices over time: the agent's speech and the caller's lines, on one clock (ms since 1970). */

/**
 * Intention of a line: to be answered, to be continued, to take the turn, a backchannel, or none, because it
 * is only a sound.
 */
export type Meaning = 'turn' | 'part' | 'interruption' | 'backchannel' | 'sound';

/** A longer pause of the agent ends one span of its speech, ms. */
const STRETCH_GAP_MS = 200;

/** A span of the agent's speech; times of its first and last voiced packet. */
export interface Stretch {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** A line with the times of its first and last packet. */
export interface TimedLine extends Stretch {
  readonly text: string;
  readonly means: Meaning;
}

/** One call. */
export interface Timeline {
  readonly agent: readonly Stretch[];
  readonly lines: readonly TimedLine[];
}

/** Adds a voiced packet to the spans. */
export function addVoice(stretches: { firstMs: number; lastMs: number }[], atMs: number): void {
  const current = stretches.at(-1);
  if (current && atMs - current.lastMs <= STRETCH_GAP_MS) current.lastMs = atMs;
  else stretches.push({ firstMs: atMs, lastMs: atMs });
}

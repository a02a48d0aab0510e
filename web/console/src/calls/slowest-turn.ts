/**
 * Finds the turn of a call that kept its caller waiting longest, and compares its longest part with the same
 * part of the other turns.
 */
import type { SessionDetail } from '../api/types.ts';

export type Turn = SessionDetail['turns'][number];

/**
 * Parts of a turn in order, each with an explanation and a colour distinct from its neighbours' in both
 * schemes.
 */
export const PARTS = [
  ['endpoint_ms', 'Waited for the caller to continue', '#94a3b8'],
  ['transcript_ms', 'Recogniser', '#0d9488'],
  ['first_token_ms', 'Model’s first word', '#6366f1'],
  ['first_sentence_ms', 'First sentence', '#a78bfa'],
  ['first_audio_ms', 'Voice', '#f59e0b'],
  ['playout_ms', 'Sending', '#ef4444'],
] as const;

export type Part = (typeof PARTS)[number];

/** Shorter response times are normal between people. */
export const SLOW_FROM_MS = 1_200;

/** The slowest turn of a call. */
export interface Slowest {
  readonly turn: Turn;
  /** The longest part. */
  readonly part: Part;
  /** Median duration of that part in the call's other turns, ms; null without other turns. */
  readonly usualMs: number | null;
}

/** The longest part of a turn. */
export function longestPart(turn: Turn): Part {
  return PARTS.reduce((most, part) => (turn[part[0]] > turn[most[0]] ? part : most));
}

/** The slowest turn; null if no spoken turn was answered. */
export function slowestTurn(turns: readonly Turn[]): Slowest | null {
  const [first, ...rest] = turns;
  if (!first) return null;
  const turn = rest.reduce((most, other) => (other.total_ms > most.total_ms ? other : most), first);
  const part = longestPart(turn);
  const others = turns.filter((other) => other !== turn).map((other) => other[part[0]]);
  return { turn, part, usualMs: median(others) };
}

/** Median; null without values. */
export function median(figures: readonly number[]): number | null {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? null;
}

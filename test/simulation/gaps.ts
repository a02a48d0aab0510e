/**
 * The gaps of a simulated call (over 700 ms) as the product explains them, and the part of each in which the
 * caller waited for the agent.
 */
import type { SimulatedCall } from './simulate-call.ts';
import { SIMULATED_EPOCH_MS } from './simulated-clock.ts';

interface Gap {
  readonly fromMs: number;
  /**
   * Excludes the wait for the end of the caller's words, which the agent's settings require, and the caller's
   * own silence.
   */
  readonly awaitedMs: number;
  readonly unattributedMs: number;
  /** The connection was lost, or the process was suspended. */
  readonly isExcused: boolean;
}

/** All uses. */
export function gapsOf({ acts, outages, reports }: SimulatedCall): Gap[] {
  return reports.flatMap((report) => {
    if (report.type !== 'silence') return [];
    const { causes, duration_ms: lastsMs, started_at: startedAt } = report.silence;
    const fromMs = Date.parse(startedAt) - SIMULATED_EPOCH_MS;
    // Tools run during the other parts.
    const parts = causes.filter(({ cause }) => cause !== 'tool');
    const awaited = parts.filter(({ cause }) => cause !== 'endpoint' && cause !== 'caller_silent');
    const overlaps = (sinceMs: number, untilMs: number) => sinceMs <= fromMs + lastsMs && untilMs >= fromMs;
    const isExcused =
      outages.some(({ backMs, lostMs }) => overlaps(lostMs, backMs)) ||
      acts.some(({ atMs, what }) => what === 'clock jump' && overlaps(atMs, atMs));
    return [
      { fromMs, awaitedMs: sumOf(awaited), unattributedMs: Math.abs(lastsMs - sumOf(parts)), isExcused },
    ];
  });
}

function sumOf(parts: readonly { readonly ms: number }[]): number {
  return parts.reduce((sum, { ms }) => sum + ms, 0);
}

/**
 * What beginning a reply early saves: the same calls with and without it, turn by turn. Virtual time makes
 * the comparison exact.
 */
import { type SimulatedCall, simulateCall } from './simulate-call.ts';

/** Every simulated model takes this long to its first token here, ms. */
export const FIRST_TOKEN_MS = 300;

/** One turn, answered twice: ms from the end of speech to the answer's first sound. */
export interface AnsweredTwice {
  readonly withMs: number;
  readonly withoutMs: number;
}

/** The turns of a seed whose words stayed what the early reply was begun on, so that it was used. */
export async function answeredTwice(seed: number): Promise<AnsweredTwice[]> {
  const early = turnsOf(await simulateCall(seed, { isSpeculative: true, firstTokenMs: FIRST_TOKEN_MS }));
  const late = turnsOf(await simulateCall(seed, { isSpeculative: false, firstTokenMs: FIRST_TOKEN_MS }));
  return early.flatMap(({ speculative, speech_ended_at: endedAt, endpoint_rule: rule, total_ms: withMs }) => {
    const same = late.find((other) => other.speech_ended_at === endedAt && other.endpoint_rule === rule);
    return speculative && same ? [{ withMs, withoutMs: same.total_ms }] : [];
  });
}

function turnsOf({ reports }: SimulatedCall) {
  return reports.flatMap((report) => (report.type === 'turn' ? [report.latency] : []));
}

/** By how much the median answer comes sooner, ms. */
export function medianSaving(turns: readonly AnsweredTwice[]): number {
  return median(turns.map(({ withoutMs }) => withoutMs)) - median(turns.map(({ withMs }) => withMs));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

/**
 * Time saved by speculative replies: the same calls with and without them, turn by turn. Virtual time makes
 * the comparison exact.
 */
import { type SimulatedCall, simulateCall } from './simulate-call.ts';

/** Time to first token of every simulated model here, ms. */
export const FIRST_TOKEN_MS = 300;

/**
 * One turn, answered with and without speculation: ms from the end of speech to the first sound of the
 * answer.
 */
export interface AnsweredTwice {
  readonly withMs: number;
  readonly withoutMs: number;
}

/**
 * The turns of a seed whose words did not change after speculation started, which means that the speculative
 * reply was used.
 */
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

/** Reduction of the median answer time, ms. */
export function medianSaving(turns: readonly AnsweredTwice[]): number {
  return median(turns.map(({ withoutMs }) => withoutMs)) - median(turns.map(({ withMs }) => withMs));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

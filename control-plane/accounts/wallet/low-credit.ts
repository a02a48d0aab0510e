/** The low-credit alert: a wallet below one dollar, the price of a quarter of an hour of calls. */
import type { Metrics } from '../../platform/metrics.ts';

const LOW_CREDIT_MICROS = 1_000_000;

/** Whether a balance, in micro-dollars, is low. */
export function isLowCredit(balanceMicros: number): boolean {
  return balanceMicros < LOW_CREDIT_MICROS;
}

/**
 * Updates the metrics for a new ledger entry; a drop below the low-credit threshold is counted once per drop.
 */
export function countPosting(
  { postings, lowCredit }: Metrics,
  entry: { kind: string; amountMicros: number; balanceMicros: number },
): void {
  postings.inc({ kind: entry.kind });
  if (isLowCredit(entry.balanceMicros) && !isLowCredit(entry.balanceMicros - entry.amountMicros))
    lowCredit.inc();
}

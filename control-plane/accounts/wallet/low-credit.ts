/** The low-credit alert: a wallet below one dollar, the price of a quarter of an hour of calls. */
import type { Metrics } from '../../platform/metrics.ts';

const MICROS = 1_000_000;
const LOW_CREDIT_MICROS = MICROS;

/** Whether a balance, in micro-dollars, is low. */
export function isLowCredit(balanceMicros: number): boolean {
  return balanceMicros < LOW_CREDIT_MICROS;
}

/**
 * Updates the metrics for a new ledger entry; a drop below the low-credit threshold is counted once per drop.
 */
export function countPosting(
  {
    postings,
    credited,
    debited,
    lowCredit,
  }: Pick<Metrics, 'postings' | 'credited' | 'debited' | 'lowCredit'>,
  entry: { kind: string; amountMicros: number; balanceMicros: number },
): void {
  const { kind, amountMicros } = entry;
  postings.inc({ kind });
  if (amountMicros > 0) credited.inc({ kind }, amountMicros / MICROS);
  if (amountMicros < 0) debited.inc({ kind }, -amountMicros / MICROS);
  if (isLowCredit(entry.balanceMicros) && !isLowCredit(entry.balanceMicros - entry.amountMicros))
    lowCredit.inc({});
}

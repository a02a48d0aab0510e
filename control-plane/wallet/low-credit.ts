/** The low-credit alert: below a dollar, the price of a quarter of an hour, a wallet is low. */

const LOW_CREDIT_MICROS = 1_000_000;

/** Whether a balance, in micro-dollars, is low. */
export function isLowCredit(balanceMicros: number): boolean {
  return balanceMicros < LOW_CREDIT_MICROS;
}

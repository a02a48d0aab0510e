/** Money over all cells: nothing is spent twice, and nothing is lost. */
import type { CellResult } from './cell.ts';
import { accountsOf, creditOf, homeOf, type TierPlan } from './tier.ts';

/** Names the accounts whose money does not add up once every allotment is given back. */
export function moneyViolations(plan: TierPlan, cells: readonly CellResult[]): string[] {
  return accountsOf(plan).flatMap((account) => {
    const home = homeOf(account, plan);
    const away = cells.flatMap(({ balances }, cell) => (cell === home ? [] : [balances.get(account) ?? 0]));
    const left = away.find((balance) => balance !== 0);
    if (left !== undefined) return [`${account} has ${left} left in a cell that is not its home`];
    const balance = cells[home]?.balances.get(account) ?? 0;
    const paid = cells.reduce((sum, cell) => sum + (cell.paid.get(account) ?? 0), 0);
    const credit = creditOf(account, plan);
    if (balance + paid === credit) return [];
    return [`${account} had ${credit}, paid ${paid} and has ${balance}`];
  });
}

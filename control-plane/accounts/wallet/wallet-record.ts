/** A wallet as the API returns it. */
import { z } from 'zod';
import { formatMoney, parseMoney } from '#base/money.ts';
import type { LedgerEntry } from '../../platform/ledger.ts';
import { START_KEY } from '../keys/accounts.ts';

/** The wallet record. */
export const walletRecord = z.object({
  _id: z.string(),
  user_id: z.string(),
  credit: z.string(),
  cumulative_top_up: z.string(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  has_phone_sha256: z.boolean(),
  has_free_credit: z.boolean(),
});

/** A dollar amount in a request, as text; must not be negative. `parseMoney` converts it. */
export const amount = z
  .string()
  .max(24)
  .refine((text) => (parseMoney(text) ?? -1) >= 0, 'must be a decimal amount of dollars such as "5.00"');

/** Converts a wallet to its record. */
export function toWalletRecord(
  userId: string,
  wallet: { readonly first: LedgerEntry; readonly newest: LedgerEntry },
): z.output<typeof walletRecord> {
  const { first, newest } = wallet;
  return {
    _id: userId,
    user_id: userId,
    credit: formatMoney(newest.balanceMicros),
    cumulative_top_up: formatMoney(newest.cumulativeTopUpMicros),
    created_at: first.at.toISOString(),
    updated_at: newest.at.toISOString(),
    has_phone_sha256: false,
    has_free_credit: first.key === START_KEY && first.amountMicros > 0,
  };
}

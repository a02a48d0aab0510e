/** Spend limits in requests and responses. The API uses dollar strings; the store uses micro-dollars. */
import { z } from 'zod';
import { formatMoney, parseMoney } from '#base/money.ts';
import type { SpendLimits } from '../../platform/store/models/user-model.ts';
import { amount } from '../wallet/wallet-record.ts';

/** Limit fields; null means no limit. */
export const limitFields = {
  daily_cap: amount.nullable(),
  concurrent_calls: z.number().int().min(0).max(100_000).nullable(),
};

/** Converts the given limits to their stored form; omitted limits stay omitted. */
export function toStoredLimits(given: {
  daily_cap?: string | null | undefined;
  concurrent_calls?: number | null | undefined;
}): Partial<SpendLimits> {
  const { daily_cap: cap, concurrent_calls: calls } = given;
  return {
    ...(cap === undefined ? {} : { daily_cap: cap === null ? null : parseMoney(cap) }),
    ...(calls === undefined ? {} : { concurrent_calls: calls }),
  };
}

/** Converts stored limits to their API form. */
export function toLimitRecord(limits: Partial<SpendLimits>): {
  daily_cap: string | null;
  concurrent_calls: number | null;
} {
  const { daily_cap: cap = null, concurrent_calls: calls = null } = limits;
  return { daily_cap: cap === null ? null : formatMoney(cap), concurrent_calls: calls };
}

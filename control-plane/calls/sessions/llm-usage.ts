/**
 * Language model usage of a session: tokens and list price per turn (`llm_usage`). For information only:
 * conversations are charged by the minute.
 */
import { z } from 'zod';
import { formatMoney } from '#base/money.ts';
import { priceOf } from '#config/language-models.ts';
import type { ModelUsage } from '#protocol/session-record.ts';

const PER = 1_000_000;

/** Model usage of one turn; a null `turn_id` collects runs that belong to no turn. */
export const turnUsage = z.object({
  turn_id: z.number().int().nullable(),
  /** `unavailable` when no run of the turn reported tokens. */
  status: z.enum(['complete', 'unavailable']),
  billing_mode: z.literal('included'),
  call_count: z.number().int(),
  usage_complete: z.boolean(),
  /** Dollars at list price as a decimal; null if any price is unknown. */
  cost_usd: z.string().nullable(),
  /** Tokens of replies discarded before the turn was confirmed; not included in any other figure. */
  discarded_output_tokens: z.number().int(),
  tokens: z.array(
    z.object({
      model: z.string(),
      category: z.enum(['input', 'cache_read', 'output']),
      tokens: z.number().int(),
      rate_per_million: z.string().nullable(),
      cost_usd: z.string().nullable(),
    }),
  ),
});
type TurnUsage = z.output<typeof turnUsage>;

/** Sums the runs of a session by turn, in turn order. */
export function usageByTurn(usage: readonly ModelUsage[]): TurnUsage[] {
  return [...Map.groupBy(usage, (run) => run.turn_id ?? null)]
    .sort(([a], [b]) => (a ?? -1) - (b ?? -1))
    .map(([turnId, runs]) => usageOf(turnId, runs));
}

function usageOf(turnId: number | null, runs: readonly ModelUsage[]): TurnUsage {
  const kept = runs.filter((run) => run.discarded_output_tokens === 0);
  const tokens = [...Map.groupBy(kept, (run) => run.model)].flatMap(([model, of]) => entriesOf(model, of));
  const costs = tokens.map((entry) => entry.micros);
  return {
    turn_id: turnId,
    status: kept.some((run) => run.output_tokens !== null) ? 'complete' : 'unavailable',
    billing_mode: 'included',
    call_count: kept.length,
    usage_complete: kept.every((run) => run.input_tokens !== null && run.output_tokens !== null),
    cost_usd: costs.includes(null) || costs.length === 0 ? null : formatMoney(sum(costs)),
    discarded_output_tokens: sum(runs.map((run) => run.discarded_output_tokens)),
    tokens: tokens.map(({ micros, ...entry }) => ({
      ...entry,
      cost_usd: micros === null ? null : formatMoney(micros),
    })),
  };
}

function entriesOf(model: string, runs: readonly ModelUsage[]) {
  const price = priceOf(model);
  const cached = sum(runs.map((run) => run.cached_input_tokens));
  const counts = [
    {
      category: 'input',
      tokens: Math.max(0, sum(runs.map((run) => run.input_tokens)) - cached),
      rate: price?.input,
    },
    { category: 'cache_read', tokens: cached, rate: price?.cached },
    { category: 'output', tokens: sum(runs.map((run) => run.output_tokens)), rate: price?.output },
  ] as const;
  return counts
    .filter(({ tokens }) => tokens > 0)
    .map(({ category, tokens, rate }) => ({
      model,
      category,
      tokens,
      rate_per_million: rate === undefined ? null : formatMoney(rate),
      // Round up: the micro-dollar is the smallest unit of money here.
      micros: rate === undefined ? null : Math.ceil((tokens * rate) / PER),
    }));
}

function sum(values: readonly (number | null | undefined)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0);
}

/**
 * `GET /v1/agent/analytics`: a team's call statistics over a period: number, duration, cost, response latency
 * and end reasons. The range is limited; the calls in it are not, once their sums are complete.
 */
import { z } from 'zod';
import { formatMoney } from '#base/money.ts';
import { type Context, now } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { type Range, rangeOf, rangeQuery, STEP_MS, stepsOf } from './range.ts';
import { readCalls } from './read-calls.ts';
import type { CallSums } from './summarise-calls.ts';

const MAX_AGENTS = 20;

const analyticsQuery = z.strictObject({ ...rangeQuery, agent_id: z.string().max(64).optional() });

const count = z.number().int();
const percentile = z.number().nullable();
const sums = z.object({
  calls: count,
  /** Calls that were connected. */
  answered: count,
  /** answered / calls; null if there are none. */
  answer_rate: z.number().nullable(),
  live: count,
  total_seconds: count,
  /** Of answered calls that have ended; null if there are none. */
  average_seconds: z.number().nullable(),
  cost: z.string(),
  /** From the caller's end of speech to the agent's first audio, to 10 ms. */
  latency: z.object({ turns: count, p50_ms: percentile, p95_ms: percentile, p99_ms: percentile }),
  end_reasons: z.record(z.string(), count),
});

const analyticsRecord = z.object({
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  interval: z.enum(['hour', 'day']),
  /** True: there were no sums to read, and only the newest 50 000 calls of the range are counted. */
  truncated: z.boolean(),
  totals: sums,
  /** One per hour or day (UTC), including those without calls. */
  buckets: z.array(sums.extend({ start: z.iso.datetime() })),
  /** The busiest agents. */
  agents: z.array(sums.extend({ agent_id: z.string(), agent_name: z.string() })),
});

/** Registers the route. */
export function registerAnalyticsRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/analytics',
    {
      schema: {
        tags: ['sessions'],
        querystring: analyticsQuery,
        response: { 200: analyticsRecord },
      },
    },
    async (request) => {
      const range = rangeOf(request.query, now(context));
      return summarise(context, callerOf(request).teamId, range, request.query.agent_id);
    },
  );
}

async function summarise(
  context: Context,
  teamId: string,
  range: Range,
  agentId: string | undefined,
): Promise<z.output<typeof analyticsRecord>> {
  const { fromMs, toMs, interval } = range;
  const question = { teamId, agentId, fromMs, toMs, stepMs: STEP_MS[interval] };
  const { summary, isTruncated } = await readCalls(context, question);
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(toMs).toISOString(),
    interval,
    truncated: isTruncated,
    totals: toRecord(summary.total.sums()),
    buckets: stepsOf(range).map((step) => ({
      start: new Date(step * STEP_MS[interval]).toISOString(),
      ...toRecord(summary.bucket(step)),
    })),
    agents: summary
      .busiest(MAX_AGENTS)
      .map(({ id, name, sums: of }) => ({ agent_id: id, agent_name: name, ...toRecord(of) })),
  };
}

function toRecord({
  calls,
  answered,
  live,
  seconds,
  costMicros,
  latency,
  endReasons,
}: CallSums): z.output<typeof sums> {
  const over = answered - live;
  return {
    calls,
    answered,
    answer_rate: calls === 0 ? null : answered / calls,
    live,
    total_seconds: seconds,
    average_seconds: over > 0 ? seconds / over : null,
    cost: formatMoney(costMicros),
    latency: { ...latency },
    end_reasons: { ...endReasons },
  };
}

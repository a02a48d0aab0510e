/**
 * `GET /v1/agent/analytics`: a team's call statistics over a period: number, duration, cost, response latency
 * and end reasons. The range is limited, its newest calls are read through the list's own index, and memory
 * use is constant.
 */
import { z } from 'zod';
import { formatMoney } from '#base/money.ts';
import { fault } from '#config/errors.ts';
import { type Context, now } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { type CallSums, type CountedCall, Tally, TallyMap } from './summarise-calls.ts';

const HOUR_MS = 3_600_000;
const STEP_MS = { hour: HOUR_MS, day: 24 * HOUR_MS } as const;
const DEFAULT_RANGE_MS = 7 * STEP_MS.day;
/** Maximum ranges: two weeks by the hour, three months by the day. */
const MAX_STEPS = { hour: 14 * 24, day: 93 } as const;
/** Maximum calls counted; if there are more, the answer says that it covers only the newest. */
const MAX_CALLS = 50_000;
const MAX_AGENTS = 20;

const analyticsQuery = z.strictObject({
  /** Default: a week before `to`. */
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
  interval: z.enum(['hour', 'day']).default('day'),
  agent_id: z.string().max(64).optional(),
});

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
  /** True: only the newest 50 000 calls of the range are counted. */
  truncated: z.boolean(),
  totals: sums,
  /** One per hour or day (UTC), including those without calls. */
  buckets: z.array(sums.extend({ start: z.iso.datetime() })),
  /** The busiest agents. */
  agents: z.array(sums.extend({ agent_id: z.string(), agent_name: z.string() })),
});

const COUNTED_FIELDS = {
  agent_id: 1,
  agent_name: 1,
  status: 1,
  end_reason: 1,
  created_at: 1,
  started_at: 1,
  duration_seconds: 1,
  billing: 1,
  turns: 1,
} satisfies Record<keyof CountedCall, 1>;

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

interface Range {
  readonly fromMs: number;
  readonly toMs: number;
  readonly interval: 'hour' | 'day';
}

function rangeOf(query: z.output<typeof analyticsQuery>, at: Date): Range {
  const { interval } = query;
  const toMs = query.to === undefined ? at.getTime() : Date.parse(query.to);
  const fromMs = query.from === undefined ? toMs - DEFAULT_RANGE_MS : Date.parse(query.from);
  if (fromMs >= toMs) throw fault('bad_request', { detail: 'from must be before to' });
  const steps = (toMs - fromMs) / STEP_MS[interval];
  if (steps > MAX_STEPS[interval])
    throw fault('bad_request', {
      detail: `The range is too long: at most ${MAX_STEPS[interval]} ${interval}s, or ask by the day`,
    });
  return { fromMs, toMs, interval };
}

async function summarise(
  context: Context,
  teamId: string,
  range: Range,
  agentId: string | undefined,
): Promise<z.output<typeof analyticsRecord>> {
  const stepMs = STEP_MS[range.interval];
  const total = new Tally();
  const buckets = new TallyMap<number>();
  const agents = new TallyMap<string>();
  const names = new Map<string, string>();
  let seen = 0;
  const calls = context.models.sessions
    .find(
      {
        team_id: teamId,
        ...(agentId === undefined ? {} : { agent_id: agentId }),
        created_at: { $gte: new Date(range.fromMs), $lt: new Date(range.toMs) },
        is_listed: true,
        status: { $in: ['active', 'unknown', 'completed', 'failed'] },
      },
      COUNTED_FIELDS,
    )
    .sort({ created_at: -1, _id: -1 })
    .limit(MAX_CALLS + 1)
    .lean<CountedCall[]>()
    .cursor();
  for await (const call of calls as AsyncIterable<CountedCall>) {
    seen += 1;
    if (seen > MAX_CALLS) break;
    total.add(call);
    buckets.at(Math.floor(call.created_at.getTime() / stepMs)).add(call);
    agents.at(call.agent_id).add(call);
    if (!names.has(call.agent_id)) names.set(call.agent_id, call.agent_name);
  }
  return {
    from: new Date(range.fromMs).toISOString(),
    to: new Date(range.toMs).toISOString(),
    interval: range.interval,
    truncated: seen > MAX_CALLS,
    totals: toRecord(total.sums()),
    buckets: stepsOf(range).map((step) => ({
      start: new Date(step * stepMs).toISOString(),
      ...toRecord(buckets.sums(step)),
    })),
    agents: agents
      .entries()
      .sort(([, a], [, b]) => b.calls - a.calls)
      .slice(0, MAX_AGENTS)
      .map(([id, of]) => ({ agent_id: id, agent_name: names.get(id) ?? '', ...toRecord(of) })),
  };
}

function stepsOf({ fromMs, toMs, interval }: Range): number[] {
  const first = Math.floor(fromMs / STEP_MS[interval]);
  const end = Math.ceil(toMs / STEP_MS[interval]);
  return Array.from({ length: end - first }, (_, index) => first + index);
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

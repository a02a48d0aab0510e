/**
 * `/v1/agent/agents/{agent_id}/scorecard`: what was found in the ended calls of an agent, over time and by
 * version, the calls behind each figure, and the alerts about its rates.
 */
import { z } from 'zod';
import { wilson } from '#base/intervals.ts';
import { fault } from '#config/errors.ts';
import { type AlertRule, CALL_TAGS, DEFAULT_AT_LEAST_CALLS, LEARNED } from '#config/scorecard.ts';
import { analysisResult } from '#protocol/session-record.ts';
import { scorecardAlert } from '#protocol/webhook-events.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import { newestVersion } from '../../catalogue/agents/newest-version.ts';
import { type Context, now } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { listOf, listQuery } from '../../platform/http/lists.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findPage } from '../../platform/store/find-page.ts';
import type {
  LearnedBand,
  ScoredCallDocument,
  ScoreWatchDocument,
} from '../../platform/store/models/scorecard-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { rangeOf, rangeQuery } from '../analytics/range.ts';
import { LEARNING_CALLS } from './learn-band.ts';
import { readScorecard, type VersionedSums } from './read-scorecard.ts';
import { labelOf, type Sums } from './score-call.ts';
import { alertRecord } from './tell-alerts.ts';
import { isSame, limitOf } from './watch-rates.ts';

/** Versions that an answer has, of all calls and of each bucket: some agents are published every hour. */
const MOST_VERSIONS = 50;

const agentPath = z.object({ agent_id: z.string() });
const count = z.number().int();
const timestamp = z.iso.datetime();
const tagName = z.enum(CALL_TAGS).describe('What happened in the call');
const share = z.number().nullable().describe('Share of the calls, 0 to 1; null without a call.');
const low = z.number().nullable().describe('Lower end of its 95 % interval; null without a call.');
const high = z.number().nullable().describe('Upper end of its 95 % interval; null without a call.');

const sums = z.object({
  calls: count.describe('Ended calls that are counted.'),
  tags: z
    .array(z.object({ tag: tagName, calls: count.describe('Calls with the tag.'), rate: share, low, high }))
    .describe('Each tag, also those that no call has.'),
  criteria: z
    .array(
      z.object({
        name: z.string().describe('Name of the criterion.'),
        success: count.describe('Calls in which it was met.'),
        failure: count.describe('Calls in which it failed.'),
        unknown: count.describe('Calls in which the analysis could not tell.'),
        rate: share.describe('failure / (success + failure); null without either.'),
        low,
        high,
      }),
    )
    .describe('Each criterion that was judged in one of the calls.'),
});
const versionedSums = sums.extend({
  versions: z
    .array(sums.extend({ version_number: count.describe('Number of the version.') }))
    .describe('The same by version, the newest first, at most 50.'),
});

const scorecardRecord = z.object({
  from: timestamp.describe('Start of the range, RFC 3339 UTC.'),
  to: timestamp.describe('End of the range, RFC 3339 UTC.'),
  interval: rangeQuery.interval.unwrap().describe('Length of a bucket.'),
  totals: versionedSums.describe('All calls of the range.'),
  buckets: z
    .array(versionedSums.extend({ start: timestamp.describe('Start of the hour or day, RFC 3339 UTC.') }))
    .describe('One per hour or day (UTC), also without calls.'),
});

const timeLimit = z.iso.datetime({ offset: true }).optional();
const callsQuery = z.strictObject({
  ...listQuery,
  tag: z.enum(CALL_TAGS).optional().describe('Calls with this tag.'),
  criterion: z.string().max(64).optional().describe('Calls in which this criterion was judged.'),
  result: analysisResult.shape.criteria_results.element.shape.result
    .optional()
    .describe('How it was judged; absent: `failure`.'),
  version: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe('Number of the version that the calls had; absent: any.'),
  from: timeLimit.describe('Only calls that began then or later, RFC 3339.'),
  to: timeLimit.describe('Only calls that began before, RFC 3339.'),
});
type CallsQuery = z.output<typeof callsQuery>;

const scoredCall = z.object({
  session_id: z.string(),
  version_number: count.describe('Number of the version that the call had.'),
  created_at: timestamp,
  duration_seconds: count,
  end_reason: z.string().nullable().describe('Why the call ended.'),
  tags: z.array(tagName).describe('What was found in the call.'),
  criteria: z
    .array(analysisResult.shape.criteria_results.element.pick({ name: true, result: true }))
    .describe('How its criteria were judged.'),
});

const learnedBand = z.object({
  sides: z
    .array(z.enum(['above', 'below']))
    .describe('The limits that are learned; above and below are null until they are.'),
  calls: count.describe('Calls that showed the rate, in the 28 days before they were looked at.'),
  hits: count.describe('How many of them count for it.'),
  needed_calls: count.describe('Calls that a limit needs.'),
  looked_at: timestamp.nullable().describe('When these calls were looked at last; null: not yet.'),
});

const alertsRecord = z.object({
  rules: z
    .array(
      z.object({
        rate: z.string().describe('The rate that is watched.'),
        above: z.number().nullable().describe('Highest rate within the band; null without one.'),
        below: z.number().nullable().describe('Lowest rate within the band; null without one.'),
        at_least_calls: count.describe('Calls that an alert needs.'),
        learned: learnedBand.exactOptional().describe('If a limit is to be learned: from which calls it is.'),
      }),
    )
    .describe('The rules of the published version.'),
  open: z.array(scorecardAlert).describe('Rates that are out of their bands.'),
  closed: z.array(scorecardAlert).describe('The last 50 that were closed, newest first.'),
});

/** Registers the routes. */
export function registerScorecardRoutes(app: ApiServer, context: Context): void {
  const url = '/v1/agent/agents/:agent_id/scorecard';

  app.get(
    url,
    {
      schema: {
        tags: ['agents'],
        params: agentPath,
        querystring: z.strictObject(rangeQuery),
        response: { 200: scorecardRecord },
      },
    },
    async (request) => {
      const range = rangeOf(request.query, now(context));
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const { totals, steps } = await readScorecard(context, agent._id, range);
      return {
        from: new Date(range.fromMs).toISOString(),
        to: new Date(range.toMs).toISOString(),
        interval: range.interval,
        totals: toVersioned(totals),
        buckets: steps.map(({ startMs, sums: of }) => ({
          start: new Date(startMs).toISOString(),
          ...toVersioned(of),
        })),
      };
    },
  );

  app.get(
    `${url}/calls`,
    {
      schema: {
        tags: ['agents'],
        params: agentPath,
        querystring: callsQuery,
        response: { 200: listOf('calls', scoredCall) },
      },
    },
    async (request) => {
      const { query } = request;
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const filter = callsFilter(agent._id, query);
      const { rows, ...page } = await findPage(context.models.scoredCalls, { filter, query });
      return { calls: rows.map(toScoredCall), ...page };
    },
  );

  app.get(
    `${url}/alerts`,
    { schema: { tags: ['agents'], params: agentPath, response: { 200: alertsRecord } } },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      return readAlerts(context, agent._id);
    },
  );
}

function toVersioned({ all, versions }: VersionedSums): z.output<typeof versionedSums> {
  return {
    ...toSums(all),
    versions: [...versions]
      .sort(([a], [b]) => b - a)
      .slice(0, MOST_VERSIONS)
      .map(([version_number, of]) => ({ version_number, ...toSums(of) })),
  };
}

function toSums({ calls, tags, criteria }: Sums): z.output<typeof sums> {
  const found = new Map(tags.map((one) => [one.tag, one.calls]));
  return {
    calls,
    tags: CALL_TAGS.map((tag) => {
      const hits = found.get(tag) ?? 0;
      return { tag, calls: hits, ...rateOf(hits, calls) };
    }),
    criteria: criteria.map((one) => ({ ...one, ...rateOf(one.failure, one.success + one.failure) })),
  };
}

function rateOf(hits: number, of: number) {
  const { value, ...interval } = wilson(hits, of);
  return { rate: of === 0 ? null : value, ...interval };
}

/** A list has the calls with a tag, or those in which a criterion failed, or was judged as asked for. */
function callsFilter(agentId: string, query: CallsQuery): Record<string, unknown> {
  const { tag, criterion, result = 'failure', version = null, from, to } = query;
  if ((tag === undefined) === (criterion === undefined))
    throw fault('bad_request', { detail: 'Ask for either tag or criterion' });
  const label =
    tag === undefined ? labelOf({ criterion: criterion ?? '', result }, version) : labelOf({ tag }, version);
  const created = {
    ...(from === undefined ? {} : { $gte: new Date(from) }),
    ...(to === undefined ? {} : { $lt: new Date(to) }),
  };
  return {
    agent_id: agentId,
    labels: label,
    ...(Object.keys(created).length === 0 ? {} : { created_at: created }),
  };
}

function toScoredCall(call: ScoredCallDocument): z.output<typeof scoredCall> {
  const { version_number, duration_seconds, end_reason } = call;
  return {
    session_id: call._id,
    created_at: call.created_at.toISOString(),
    ...{ version_number, duration_seconds, end_reason },
    tags: z.array(tagName).parse(call.tags),
    criteria: call.criteria.map((one) => ({ ...one })),
  };
}

async function readAlerts(context: Context, agentId: string): Promise<z.output<typeof alertsRecord>> {
  const published = await newestVersion(context, agentId);
  const [watch] = await readStored<ScoreWatchDocument>(context.models.scoreWatches, { _id: agentId }, {});
  const rules = published?.config.scorecard?.alerts ?? [];
  return {
    rules: rules.map((rule) => {
      // A rule that was changed is learned anew with the next call.
      const state = watch?.rates.find((one) => isSame(one.rule, rule));
      return ruleRecord(rule, state?.learned);
    }),
    open: (watch?.rates ?? []).flatMap(({ open }) => (open ? [alertRecord(open)] : [])),
    closed: (watch?.closed ?? []).map(alertRecord),
  };
}

function ruleRecord(
  rule: AlertRule,
  learned: LearnedBand | undefined,
): z.output<typeof alertsRecord>['rules'][number] {
  const sides = (['above', 'below'] as const).filter((side) => rule[side] === LEARNED);
  const state = { rule, ...(learned ? { learned } : {}) };
  return {
    rate: rule.rate,
    above: limitOf(state, 'above'),
    below: limitOf(state, 'below'),
    at_least_calls: rule.at_least_calls ?? DEFAULT_AT_LEAST_CALLS,
    ...(sides.length === 0
      ? {}
      : {
          learned: {
            sides,
            calls: learned?.calls ?? 0,
            hits: learned?.hits ?? 0,
            needed_calls: LEARNING_CALLS,
            looked_at: learned?.at.toISOString() ?? null,
          },
        }),
  };
}

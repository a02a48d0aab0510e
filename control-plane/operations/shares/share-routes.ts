/** `/v1/agent/agents/{agent_id}/share`: the share of an agent's calls that another version answers. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { toVersionRecord, versionRecord } from '../../catalogue/agents/agent-record.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import { promoteShare, setShare, settledShare, stopShare } from '../../catalogue/agents/share-store.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import {
  type ArmSums,
  SHARE_ENDS,
  SHARE_MEASURES,
  type ShareDocument,
  type ShareMeasure,
} from '../../platform/store/models/share-model.ts';
import { Tally } from '../analytics/summarise-calls.ts';
import { compareArms, summaryOf, VERDICTS } from './compare-arms.ts';

const agentPath = z.object({ agent_id: z.string() });
const count = z.number().int();
const timestamp = z.iso.datetime();
const measure = z
  .enum(SHARE_MEASURES)
  .describe(
    'What happens in a call: it fails, a criterion of its analysis fails, half of its replies or more are ' +
      'slower than `slow_ms`, the agent leaves a silence of 4 s or more, or it is transferred.',
  );
const shareOfCallers = z
  .number()
  .gt(0)
  .lt(1)
  .describe('Share of callers who get the version, above 0 and below 1. A caller always gets the same one.');
const slowMs = z
  .number()
  .int()
  .min(100)
  .max(9_900)
  .describe('A reply is slow if the caller waits longer for it, in ms.');
const atLeastCalls = z
  .number()
  .int()
  .min(10)
  .max(100_000)
  .describe('Calls that each of the two versions needs before the share can be stopped on harm.');

/** Watched by default: all but transfers, which may be the purpose of the version. */
const WATCHED: readonly ShareMeasure[] = ['failed', 'unsuccessful', 'slow', 'dead_air'];

const watched = z.strictObject({
  measure,
  margin: z.number().min(0).lt(1).default(0).describe('Difference of the rates that is no harm yet, 0 to 1.'),
});

/** Body of `PUT`. */
const shareBody = z.strictObject({
  version: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe(
      'Number of the version; absent: the draft, which is frozen as a version that is not published.',
    ),
  share: shareOfCallers,
  watch: z
    .array(watched)
    .max(SHARE_MEASURES.length)
    .refine(
      (list) => new Set(list.map((one) => one.measure)).size === list.length,
      'a measure is listed twice',
    )
    .default(WATCHED.map((one) => ({ measure: one, margin: 0 })))
    .describe('Rates that stop the share once they are certainly higher than with the published version.'),
  slow_ms: slowMs.default(2_000),
  at_least_calls: atLeastCalls.default(30),
});

const arm = z.object({
  version_number: count.describe('Number of the version.'),
  calls: count.describe('Ended calls that are counted.'),
  average_seconds: z.number().nullable().describe('Mean duration of these calls, in s; null without one.'),
  latency: z
    .object({
      turns: count.describe('Number of replies measured.'),
      p50_ms: z.number().nullable().describe('Median wait for a reply, in ms; null without one.'),
      p95_ms: z.number().nullable().describe('95th percentile of the wait, in ms; null without one.'),
    })
    .describe('From the end of the caller’s speech to the agent’s first audio.'),
  end_reasons: z.record(z.string(), count).describe('Number of calls by `end_reason`.'),
  rates: z
    .array(
      z.object({
        measure,
        calls: count.describe('Calls in which it can be told.'),
        hits: count.describe('Calls in which it happened.'),
        rate: z.number().nullable().describe('hits / calls; null without a call.'),
      }),
    )
    .describe('How often each of these happened.'),
});

const LOW = z.number().describe('Lower end of the interval of the difference, −1 to 1.');
const HIGH = z.number().describe('Upper end of the interval of the difference, −1 to 1.');
const DIFFERENCE = z.number().describe('Rate with the version minus the rate beside it.');

const shareRecord = z.object({
  share_id: z.string().describe('Id of the share; another version or another `slow_ms` begins a new one.'),
  version: count.describe('Number of the version that the share of callers gets.'),
  published_version: count.describe('Number of the published version beside it.'),
  share: shareOfCallers,
  watch: z
    .array(z.object({ measure, margin: z.number().describe('Difference of the rates that is no harm yet.') }))
    .describe('Rates that stop the share once they are certainly higher than with the published version.'),
  slow_ms: slowMs,
  at_least_calls: atLeastCalls,
  status: z.enum(['running', 'ended']).describe('Once it has `ended`, new calls get the published version.'),
  started_at: timestamp.describe('When it began, RFC 3339 UTC.'),
  ended_at: timestamp.nullable().describe('When it ended, RFC 3339 UTC; null while it runs.'),
  end_reason: z
    .enum(SHARE_ENDS)
    .nullable()
    .describe(
      '`harm`: stopped because of `harm`; `by_hand`: stopped by a request; `published`: another version ' +
        'was published; `promoted`: its version was published. Null while it runs.',
    ),
  harm: z
    .object({ measure, difference: DIFFERENCE, low: LOW, high: HIGH })
    .nullable()
    .describe('The rate that has stopped it; null if none has.'),
  arms: z
    .object({ share: arm.describe('Calls with the version.'), published: arm.describe('Calls beside it.') })
    .describe('The two groups of calls.'),
  differences: z
    .array(
      z.object({
        measure,
        difference: DIFFERENCE.nullable().describe(
          'Rate with the version minus the rate beside it; null if unknown.',
        ),
        low: LOW,
        high: HIGH,
        verdict: z
          .enum(VERDICTS)
          .describe('`higher` or `lower`: the difference is real; `open`: the calls so far do not tell.'),
      }),
    )
    .describe('The rates compared. All intervals hold together, at every look, with a probability of 99 %.'),
  summary: z.string().describe('Which differences are real, in a sentence.'),
});

/** Registers the routes. */
export function registerShareRoutes(app: ApiServer, context: Context): void {
  const url = '/v1/agent/agents/:agent_id/share';

  app.get(
    url,
    { schema: { tags: ['agents'], params: agentPath, response: { 200: shareRecord } } },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const share = await settledShare(context, agent._id);
      if (!share) throw fault('share_not_set');
      return toShareRecord(share);
    },
  );

  app.put(
    url,
    { schema: { tags: ['agents'], params: agentPath, body: shareBody, response: { 200: shareRecord } } },
    async (request) =>
      toShareRecord(await setShare(context, callerOf(request).teamId, request.params.agent_id, request.body)),
  );

  app.delete(
    url,
    { schema: { tags: ['agents'], params: agentPath, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await stopShare(context, callerOf(request).teamId, request.params.agent_id);
      return reply.code(204).send();
    },
  );

  app.post(
    `${url}/promote`,
    {
      config: { bodyOptional: true },
      schema: { tags: ['agents'], params: agentPath, response: { 200: versionRecord } },
    },
    async (request) =>
      toVersionRecord(await promoteShare(context, callerOf(request).teamId, request.params.agent_id)),
  );
}

function toShareRecord(share: ShareDocument): z.output<typeof shareRecord> {
  const compared = compareArms(share.arms);
  return {
    share_id: share.share_id,
    version: share.version_number,
    published_version: share.beside_number,
    share: share.share,
    watch: share.watch.map((one) => ({ ...one })),
    slow_ms: share.slow_ms,
    at_least_calls: share.at_least_calls,
    status: share.status,
    started_at: share.started_at.toISOString(),
    ended_at: share.end?.at.toISOString() ?? null,
    end_reason: share.end?.reason ?? null,
    harm: share.end?.harm ? { ...share.end.harm } : null,
    arms: {
      share: toArm(share.version_number, share.arms.share),
      published: toArm(share.beside_number, share.arms.published),
    },
    differences: compared.map((one) => ({ ...one })),
    summary: summaryOf(share, compared),
  };
}

function toArm(versionNumber: number, { sums, rates }: ArmSums): z.output<typeof arm> {
  const tally = new Tally();
  tally.addStored(sums);
  const { calls, seconds, latency, endReasons } = tally.sums();
  const { turns, p50_ms, p95_ms } = latency;
  return {
    version_number: versionNumber,
    calls,
    average_seconds: calls === 0 ? null : seconds / calls,
    latency: { turns, p50_ms, p95_ms },
    end_reasons: { ...endReasons },
    rates: SHARE_MEASURES.map((name) => ({
      measure: name,
      ...rates[name],
      rate: rates[name].calls === 0 ? null : rates[name].hits / rates[name].calls,
    })),
  };
}

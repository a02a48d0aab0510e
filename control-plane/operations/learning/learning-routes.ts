/** `/v1/agent/agents/{agent_id}/learning`: the learner of an agent's waits (docs/regret.md#the-learner). */
import { z } from 'zod';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { invalidField } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { LEARNING_STEPS, type LearningDocument } from '../../platform/store/models/learning-model.ts';
import { EAGERNESS } from './candidates.ts';
import { toSetting } from './gather-facts.ts';
import { endLearning, findLearning, MOST_HISTORY, setLearning } from './learning-store.ts';

const wait = z.number().int().min(300).max(2_000);
const eagerness = z.enum(EAGERNESS);
const timestamp = z.iso.datetime();

const rules = {
  wait_min_ms: wait.default(300).describe('Shortest `response_wait_ms` that may be published, ms.'),
  wait_max_ms: wait.default(2_000).describe('Longest `response_wait_ms` that callers may get, ms.'),
  eagerness: z
    .array(eagerness)
    .min(1)
    .max(EAGERNESS.length)
    .default(['relaxed', 'balanced'])
    .describe('Values of `eagerness` that may be chosen.'),
  cut_off_bound: z
    .number()
    .min(0.5)
    .max(50)
    .default(5)
    .describe('Callers cut off in a hundred turns that a published setting may have.'),
  share: z
    .number()
    .min(0.01)
    .max(0.5)
    .default(0.05)
    .describe('Share of callers who get a setting before it is published, 0.01 to 0.5.'),
};
const learningBody = z.strictObject(rules);

const setting = z.object({
  eagerness,
  response_wait_ms: z.number().int().describe('Wait after the end of speech, ms.'),
});

const learningRecord = z.object({
  ...rules,
  status: z.enum(['learning', 'paused']).describe('`paused`: a person has changed something, see `why`.'),
  why: z.string().describe('What it waits for or does, or why it is paused, in words.'),
  trial: z
    .object({
      purpose: z
        .enum(['try', 'look'])
        .describe('`try`: to be published; `look`: its longer waits show what shorter ones would do.'),
      setting: setting.describe('The setting that the share of callers has.'),
    })
    .nullable()
    .describe('The share that it has set; null without one.'),
  refused: z.array(setting).describe('Settings that were rolled back; not tried again for 30 days.'),
  history: z
    .array(
      z.object({
        at: timestamp.describe('When it was done, RFC 3339 UTC.'),
        did: z.enum(LEARNING_STEPS).describe('What was done.'),
        why: z.string().describe('Why, in words.'),
      }),
    )
    .max(MOST_HISTORY)
    .describe('Its steps, the newest first.'),
  created_at: timestamp.describe('When learning began, RFC 3339 UTC.'),
});

/** Registers the routes. */
export function registerLearningRoutes(app: ApiServer, context: Context): void {
  const url = '/v1/agent/agents/:agent_id/learning';
  const params = z.object({ agent_id: z.string() });

  app.get(
    url,
    { schema: { tags: ['agents'], params, response: { 200: learningRecord } } },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      return toRecord(await findLearning(context, agent._id));
    },
  );

  app.put(
    url,
    { schema: { tags: ['agents'], params, body: learningBody, response: { 200: learningRecord } } },
    async (request) => {
      const { body } = request;
      if (body.wait_min_ms > body.wait_max_ms)
        throw invalidField(['wait_min_ms'], 'must not be more than `wait_max_ms`');
      const { agent_id: agentId } = request.params;
      return toRecord(await setLearning(context, callerOf(request).teamId, agentId, body));
    },
  );

  app.delete(
    url,
    { schema: { tags: ['agents'], params, response: { 204: z.undefined() } } },
    async (request, reply) => {
      await endLearning(context, callerOf(request).teamId, request.params.agent_id);
      return reply.code(204).send();
    },
  );
}

function toRecord(learning: LearningDocument): z.output<typeof learningRecord> {
  const { wait_min_ms, wait_max_ms, cut_off_bound, share, trial } = learning;
  return {
    ...{ wait_min_ms, wait_max_ms, cut_off_bound, share },
    eagerness: EAGERNESS.filter((one) => learning.eagerness.includes(one)),
    status: learning.status,
    why: learning.why,
    trial: trial && { purpose: trial.purpose, setting: toSetting(trial.setting) },
    refused: learning.refused.map(toSetting),
    history: learning.history.map(({ at, did, why }) => ({ at: at.toISOString(), did, why })).reverse(),
    created_at: learning.created_at.toISOString(),
  };
}

/** `GET /v1/agent/agents/{agent_id}/regret`: the regret of an agent by day and version. */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { regretRecord } from '#protocol/regret.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import { type Context, now } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { dayOf, isTooLong, regretOf } from './regret-store.ts';

const DEFAULT_DAYS = 30;
const DAY_MS = 24 * 60 * 60_000;

/** Registers the route. */
export function registerRegretRoutes(app: ApiServer, context: Context): void {
  app.get(
    '/v1/agent/agents/:agent_id/regret',
    {
      schema: {
        tags: ['agents'],
        params: z.object({ agent_id: z.string() }),
        querystring: z.strictObject({
          from: z.iso.date().optional().describe('First day (UTC); default: 29 days before `to`.'),
          to: z.iso.date().optional().describe('Last day (UTC); default: today.'),
        }),
        response: { 200: regretRecord },
      },
    },
    async (request) => {
      const agent = await findAgent(context, callerOf(request).teamId, request.params.agent_id);
      const to = request.query.to ?? dayOf(now(context));
      const from = request.query.from ?? dayOf(new Date(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS));
      if (from > to) throw fault('bad_request', { detail: 'from must not be after to' });
      if (isTooLong({ from, to }))
        throw fault('bad_request', { detail: `The range is too long: at most ${LIMITS.regretDays} days` });
      return regretOf(context, agent._id, { from, to });
    },
  );
}

/**
 * Lookup the embeddable widget makes before it is shown: needs no key, but is subject to the agent's origin
 * rules.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { type ApiServer, answerPreflight } from '../../platform/http/server.ts';
import { requirePublicOrigin } from './public-origin.ts';

const WIDGET_PATH = '/v1/agent/agents/:agent_id/widget';

/** Registers the widget route. */
export function registerWidgetRoutes(app: ApiServer, context: Context): void {
  answerPreflight(app, WIDGET_PATH, 'GET');
  app.get(
    WIDGET_PATH,
    {
      config: { access: 'none', anyOrigin: true },
      schema: {
        tags: ['agents'],
        params: z.object({ agent_id: z.string() }),
        response: { 200: z.object({ agent_name: z.string() }) },
      },
    },
    async (request) => {
      const agent = await context.models.agents.findById(request.params.agent_id).lean();
      if (!agent) throw fault('not_found');
      requirePublicOrigin(agent, request.headers.origin);
      return { agent_name: agent.name };
    },
  );
}

/**
 * Suggests a new agent from a description, with a language model of the deployment. Nothing is stored: the
 * client reviews the suggestion and creates the agent with it.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { agentSuggestion } from '#protocol/agent-suggestion.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { requireRate } from '../../platform/limits/rate.ts';
import { requireNotOverdrawn, suggesting } from '../../platform/limits/request-places.ts';
import { defaultModel } from '../agent-tests/asked-model.ts';
import { countTestSpending, requireTestSpending } from '../agent-tests/test-limits.ts';

const suggestionBody = z.strictObject({
  description: z.string().trim().min(1).max(LIMITS.suggestionDescriptionChars),
});

/** Registers the route. */
export function registerSuggestionRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/agent-suggestions',
    {
      config: { access: 'beta', isAudited: false },
      schema: {
        tags: ['agents'],
        body: suggestionBody,
        response: { 200: agentSuggestion.extend({ model: z.string() }) },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      const { teamId, userId } = caller;
      const model = await defaultModel(context);
      await requireNotOverdrawn(context, userId);
      await requireTestSpending(context, teamId);
      await requireRate(context, {
        key: `agent-suggestions:${teamId}`,
        limit: LIMITS.suggestionsPerMinute,
        what: 'suggestions of agents',
      });
      const { suggestion, error, cost_micros } = await suggesting(context, caller, () =>
        context.dispatch.suggestAgent({
          description: request.body.description,
          model,
          local_models: context.localModels.known().filter(({ id }) => id === model),
        }),
      );
      await countTestSpending(context, teamId, cost_micros);
      if (!suggestion) throw fault('suggestion_failed', { model, detail: error ?? 'no answer' });
      return { ...suggestion, model };
    },
  );
}

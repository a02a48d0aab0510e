/** The models that may be asked for tests and suggestions, besides the agent's own. */
import { fault } from '#config/errors.ts';
import { DEMO_MODEL_ID, isModelAllowed } from '#config/language-models.ts';
import type { Context } from '../../platform/context.ts';

/** Whether a model may be named in a test: a provider serves more models than are listed. */
export function isAskable(
  { platform, settings }: Pick<Context, 'platform' | 'settings'>,
  id: string,
): boolean {
  const [provider] = id.split('/');
  const isOffered = platform.llm.some(
    (model) => model.id === id || (provider !== 'local' && model.id.split('/')[0] === provider),
  );
  return isOffered && isModelAllowed(settings.LLM_ALLOWED, id);
}

/**
 * The default model of new agents, or else the first one offered that reads a prompt. Throws
 * `no_language_model`.
 */
export async function defaultModel({ localModels, platform }: Context): Promise<string> {
  await localModels.search();
  const usable = platform.llm.filter(({ id }) => id !== DEMO_MODEL_ID);
  const model = usable.find((offered) => offered.default) ?? usable[0];
  if (!model) throw fault('no_language_model');
  return model.id;
}

/** Warnings about an agent whose configuration is valid but does not do what its owner expects. */
import { z } from 'zod';
import { DEMO_MODEL_ID } from '#config/language-models.ts';
import type { PlatformModels } from '#config/platform-models.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';

/** Models named in a warning. */
const NAMED = 5;

/** One warning about an agent's draft. */
export const agentWarning = z.object({
  code: z.literal('prompt_not_read'),
  /** The effect for callers, and the remedy. */
  message: z.string(),
  /** Models of this deployment that read the prompt, the default first. */
  offered_models: z.array(z.string()),
});

/** The warnings about an agent's draft; usually none. The advice is what their reader can do. */
export function warningsOf(
  { config: { llm, prompt } }: Pick<AgentDocument, 'config'>,
  platform: Pick<PlatformModels, 'llm'>,
  { isOperator }: { readonly isOperator: boolean },
): z.output<typeof agentWarning>[] {
  if (llm.custom !== null || llm.model !== DEMO_MODEL_ID || prompt.system_prompt.trim() === '') return [];
  const offered_models = platform.llm
    .map(({ id }) => id)
    .filter((id) => id !== DEMO_MODEL_ID)
    .slice(0, NAMED);
  const advice =
    offered_models.length > 0
      ? `Set llm.model in its configuration to a language model: ${offered_models.join(', ')}.`
      : isOperator
        ? 'To get a language model, run `ollama pull llama3.2` beside Parley, or start Parley with ' +
          'OPENAI_API_KEY or another vendor’s key.'
        : 'Set llm.custom in its configuration to a language model of your own (base_url, model and ' +
          'api_key of an OpenAI-compatible API), or ask the operator of this deployment for one.';
  return [
    {
      code: 'prompt_not_read',
      message: `The agent runs on ${DEMO_MODEL_ID}, a set of rules that does not read its prompt. ${advice}`,
      offered_models,
    },
  ];
}

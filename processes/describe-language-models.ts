/** The language model of new agents in the start message, beside the speech engines. */
import { DEMO_MODEL_ID, isLocal } from '#config/language-models.ts';
import type { OfferedLanguageModel } from '#config/platform-models.ts';

/** Local models named in a line. */
const NAMED = 3;

/** One or two lines: the model, and how to get one while there is none. */
export function describeLanguageModels(offered: readonly OfferedLanguageModel[]): string[] {
  const chosen = offered.find((model) => model.default)?.id ?? DEMO_MODEL_ID;
  const local = offered.map(({ id }) => id).filter((id) => isLocal(id) && id !== DEMO_MODEL_ID);
  const [first] = local;
  const found = `Local language models found: ${local.slice(0, NAMED).join(', ')}${local.length > NAMED ? ', …' : ''}`;
  if (chosen !== DEMO_MODEL_ID)
    return [`Language model: ${chosen}`, ...(first === undefined || chosen === first ? [] : [found])];
  return [
    'Language model: none. New agents run on local/demo, a set of rules that reads no prompt.',
    first === undefined
      ? 'To get one, run `ollama pull llama3.2`, or set OPENAI_API_KEY or another vendor’s key.'
      : `${found}. LLM_DEFAULT=${first} gives it to new agents.`,
  ];
}

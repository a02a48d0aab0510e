/** The language model of new agents in the start message, beside the speech engines. */
import { DEMO_MODEL_ID, isLocal } from '#config/language-models.ts';
import type { LocalModel } from '#config/local-models.ts';
import type { OfferedModel } from '#config/platform-models.ts';

/** Local models named in a line. */
const NAMED = 3;

/**
 * One to three lines: the model, how to get one while there is none, and the operator's own address
 * (LOCAL_LLM_URL) if it is `unanswered`. `found` are the local models.
 */
export function describeLanguageModels(
  offered: readonly OfferedModel[],
  found: readonly Pick<LocalModel, 'id'>[],
  unanswered: string | undefined,
): string[] {
  return [
    ...modelLines(offered, found),
    ...(unanswered === undefined
      ? []
      : [`LOCAL_LLM_URL: no list of models at ${unanswered}. Start its server, or correct the address.`]),
  ];
}

function modelLines(offered: readonly OfferedModel[], found: readonly Pick<LocalModel, 'id'>[]): string[] {
  const chosen = offered.find((model) => model.default)?.id ?? DEMO_MODEL_ID;
  const local = found.map(({ id }) => id).filter((id) => offered.some((model) => model.id === id));
  const [first] = local;
  const names = [...local.slice(0, NAMED), ...(local.length > NAMED ? ['…'] : [])].join(', ');
  if (chosen === DEMO_MODEL_ID)
    return [
      'Language model: none. New agents run on local/demo, a set of rules that reads no prompt.',
      first === undefined
        ? 'To get one, run `ollama pull llama3.2`, or set OPENAI_API_KEY or another vendor’s key.'
        : `Local language models: ${names}. LLM_DEFAULT=${first} gives new agents the first.`,
    ];
  const isMissing = isLocal(chosen) && !local.includes(chosen);
  return [
    `Language model: ${chosen}${isMissing ? ', which no local server offers now: start its server.' : ''}`,
    ...(first === undefined || chosen === first ? [] : [`Local language models: ${names}`]),
  ];
}

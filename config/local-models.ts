/** Language models of servers on the operator's own machine (`LOCAL_LLM_URL`), offered as `local/<name>`. */
import { z } from 'zod';

/** One model, as found and tried. Null fields are not known yet. */
export const localModel = z.object({
  /** `local/<name>`. */
  id: z.string(),
  /** Base address of the server's OpenAI-compatible API; ends in `/v1`. */
  base_url: z.string(),
  /** The model's name on the server. */
  name: z.string(),
  /** Tokens of prompt and answer together. */
  context_tokens: z.number().int().positive().nullable(),
  /** Whether the model called a tool when asked to; `refused`: the server answered with an error. */
  tools: z.enum(['called', 'not_called', 'refused']).nullable(),
  /** Measured once, with a short answer. */
  tokens_per_second: z.number().positive().nullable(),
});
export type LocalModel = z.output<typeof localModel>;

/** The local models of one control plane. */
export interface LocalModels {
  /** Every local model ever found: a call may use one that the last search did not find. */
  known(): readonly LocalModel[];
  /** The models that the last search found. */
  offered(): readonly LocalModel[];
  /** Searched addresses at which no server gave the last search a list of models. */
  unanswered(): readonly string[];
  /** Searches again, unless the last search was seconds ago. Resolves after at most a second. */
  search(): Promise<void>;
  /**
   * Searches again, whatever the age of the last search: a model may have come since. At most once a second
   * for all callers. Resolves after at most three seconds.
   */
  searchAnew(): Promise<void>;
  /** Tries the model with this id, if it is a local one that was not tried: an agent is about to use it. */
  want(id: string): void;
  /** Stops searching; resolves when nothing is running any more. */
  close(): Promise<void>;
}

/** Without a search. */
export const NO_LOCAL_MODELS: LocalModels = {
  known: () => [],
  offered: () => [],
  unanswered: () => [],
  search: async () => undefined,
  searchAnew: async () => undefined,
  want: () => undefined,
  close: async () => undefined,
};

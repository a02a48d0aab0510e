/**
 * Finds the models of one server by the protocols that Ollama, llama.cpp's server, LM Studio and vLLM
 * document. Any program may listen on these ports: its answers are parsed by schemas, and what does not fit
 * is no model.
 */
import { z } from 'zod';
import type { EgressGuard } from '#base/egress.ts';
import { parseJson } from '#base/parse-json.ts';
import type { LocalModel } from '#config/local-models.ts';

/** Models taken from one server. */
const MAX_MODELS = 32;
/** A list of a hundred models has about 100 KB. */
const MAX_BYTES = 512 * 1024;
/** The list of a server, cut before anything compares its entries with each other. */
const listOf = <Schema extends z.ZodType>(entry: Schema) =>
  z.array(entry).transform((entries) => entries.slice(0, MAX_MODELS));
/** Letters, digits and the punctuation of model names; also safe in a log and on a terminal. */
const NAME = /^[A-Za-z0-9][\w.:/@+-]{0,127}$/;

/** A model that a server has. */
export interface FoundModel extends Pick<LocalModel, 'id' | 'base_url' | 'name' | 'context_tokens'> {
  /** Known to be in the memory of this server: trying it loads nothing and costs nothing. */
  readonly isLoaded: boolean;
}

/** The models of one server. */
export interface FoundModels {
  readonly models: readonly FoundModel[];
  /** Ids of cloud models, left out: their maker would get what was meant to stay on this machine. */
  readonly cloudIds: readonly string[];
}

type Listed = Pick<FoundModel, 'name' | 'context_tokens' | 'isLoaded'> & { readonly isCloud: boolean };

const tokens = z.number().int().positive().max(100_000_000).nullish().catch(null);

/** Longer names, and ones with control characters, come from no model server. */
const modelName = z
  .string()
  .max(512)
  .regex(/^[^\p{Cc}]*$/u);

/** Ollama's `/api/tags` and `/api/ps` (https://docs.ollama.com/api). A cloud model has `remote_host`. */
const ollamaTags = z.object({
  models: listOf(
    z.object({
      name: modelName,
      details: z.object({ family: z.string() }).nullish(),
      remote_host: z.string().nullish(),
      remote_model: z.string().nullish(),
    }),
  ),
});
const ollamaRunning = z.object({
  models: listOf(z.object({ name: modelName, context_length: tokens })),
});
/** OpenAI's `GET /v1/models`; vLLM adds `max_model_len`. */
const openaiModels = z.object({
  data: listOf(z.object({ id: modelName, owned_by: z.string().nullish(), max_model_len: tokens })),
});
/** `/props` of llama.cpp's server (https://github.com/ggml-org/llama.cpp, tools/server). */
const llamaCppProps = z.object({ default_generation_settings: z.object({ n_ctx: tokens }) });
/** `/api/v0/models` of LM Studio (https://lmstudio.ai/docs). */
const lmStudioModels = z.object({
  data: listOf(
    z.object({
      id: modelName,
      type: z.string(),
      state: z.string(),
      max_context_length: tokens,
      loaded_context_length: tokens,
    }),
  ),
});

/**
 * The models of the server at `address`; null unless it answers by one of the protocols in `timeoutMs` (each
 * request).
 */
export async function findModels(
  address: string,
  { guard, timeoutMs }: { readonly guard: Pick<EgressGuard, 'request'>; readonly timeoutMs: number },
): Promise<FoundModels | null> {
  const read = async <Schema extends z.ZodType>(path: string, schema: Schema) => {
    const request = { method: 'GET', timeoutMs, maxBytes: MAX_BYTES };
    const answer = await guard.request(`${address}${path}`, request).catch(() => null);
    return answer?.status === 200 && !answer.isTruncated
      ? parseJson(schema, answer.body.toString('utf8'))
      : null;
  };
  const [tags, list] = await Promise.all([read('/api/tags', ollamaTags), read('/v1/models', openaiModels)]);
  if (tags === null && list === null) return null;
  // llama.cpp's server answers `/api/tags` too, for programs that look for Ollama.
  const isOllama = tags !== null && !(list && isOfLlamaCpp(list));
  const found = isOllama
    ? ofOllama(tags, await read('/api/ps', ollamaRunning))
    : list
      ? await ofOpenai(list, read)
      : [];
  const named = found.flatMap(({ isCloud, ...model }) => {
    const id = idOf(model.name);
    return id === null ? [] : [{ isCloud, model: { ...model, id, base_url: `${address}/v1` } }];
  });
  return {
    models: named.filter(({ isCloud }) => !isCloud).map(({ model }) => model),
    cloudIds: named.filter(({ isCloud }) => isCloud).map(({ model }) => model.id),
  };
}

function ofOllama(
  { models }: z.output<typeof ollamaTags>,
  running: z.output<typeof ollamaRunning> | null,
): Listed[] {
  return models
    .filter(({ name, details }) => !isEmbedding(name) && !/bert/i.test(details?.family ?? ''))
    .map(({ name, remote_host, remote_model }) => {
      const loaded = running?.models.find((model) => model.name === name);
      return {
        name,
        context_tokens: loaded?.context_length ?? null,
        isLoaded: loaded !== undefined,
        isCloud: Boolean(remote_host || remote_model),
      };
    });
}

function isOfLlamaCpp({ data }: z.output<typeof openaiModels>): boolean {
  return data.some((model) => model.owned_by === 'llamacpp');
}

async function ofOpenai(
  list: z.output<typeof openaiModels>,
  read: <Schema extends z.ZodType>(path: string, schema: Schema) => Promise<z.output<Schema> | null>,
): Promise<Listed[]> {
  const { data } = list;
  const isLlamaCpp = isOfLlamaCpp(list);
  const props = isLlamaCpp ? await read('/props', llamaCppProps) : null;
  const isVllm = data.some((model) => model.max_model_len);
  const lmStudio = isLlamaCpp || isVllm ? null : await read('/api/v0/models', lmStudioModels);
  if (lmStudio)
    return lmStudio.data
      .filter(({ type }) => type !== 'embeddings')
      .map(({ id, state, loaded_context_length, max_context_length }) => ({
        name: id,
        context_tokens: loaded_context_length ?? max_context_length ?? null,
        isLoaded: state === 'loaded',
        isCloud: false,
      }));
  return data
    .filter(({ id }) => !isEmbedding(id))
    .map(({ id, max_model_len }) => ({
      name: id,
      context_tokens: props?.default_generation_settings.n_ctx ?? max_model_len ?? null,
      // Behind any other list, such as a proxy's, a trial may load each model or pay a vendor.
      isLoaded: (isLlamaCpp || isVllm) && data.length === 1,
      // Ollama's OpenAI list marks its cloud models by the name only: `gpt-oss:120b-cloud`.
      isCloud: /[:-]cloud$/.test(id),
    }));
}

function isEmbedding(name: string): boolean {
  return /embed/i.test(name);
}

/** `local/<name>`: without Ollama's default tag, and without the folder and ending of llama.cpp's files. */
function idOf(name: string): string | null {
  const short = name.endsWith('.gguf')
    ? (name.split(/[/\\]/).at(-1) ?? '').slice(0, -'.gguf'.length)
    : name.replace(/:latest$/, '');
  return NAME.test(short) && short !== 'demo' ? `local/${short}` : null;
}

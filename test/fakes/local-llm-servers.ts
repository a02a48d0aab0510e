/**
 * Stand-ins for servers of language models on one's own machine, speaking the protocols their makers document
 * over a real socket. Each has one chat model, and where the real one would list it, an embedding model.
 */
import {
  type ChatScript,
  callTool,
  type OpenaiServer,
  type OpenaiServerOptions,
  say,
  startOpenaiServer,
} from './openai-server.ts';

/** Behaviour of a stand-in. */
export interface LocalLlmOptions {
  /** How the model reacts when asked to call a tool; default: it calls it. */
  readonly tools?: 'called' | 'not_called' | 'refused' | 'busy';
  /** Called for each chat request before its answer. */
  readonly onChat?: () => void;
  /** Tokens of every answer as the server reports them; default: its words. */
  readonly outputTokens?: number;
  /** Ollama and LM Studio: the model is in memory from the start. */
  readonly isLoaded?: boolean;
}

/** A running stand-in. */
export interface LocalLlmServer extends OpenaiServer {
  /** For `LOCAL_LLM_URL`; without `/v1`. */
  readonly address: string;
}

const POEM = 'The sea is wide and grey and cold, its waves are many, young and old.';
/** Words of an answer without a tool; the stand-in counts each as a token. */
export const ANSWER_TOKENS = POEM.split(' ').length;

/** Ollama: a model is in memory once it has answered, and `/api/ps` then lists it with its context. */
export function startOllama(options: LocalLlmOptions = {}): Promise<LocalLlmServer> {
  let isLoaded = options.isLoaded ?? false;
  const onChat = () => {
    isLoaded = true;
    options.onChat?.();
  };
  const model = (name: string, family: string, parameter_size: string) => ({
    name,
    model: name,
    modified_at: '2026-05-04T17:37:44.706015396-07:00',
    size: 2_019_393_189,
    digest: 'a80c4f17acd55265feec403c7aef86be0c25983ab279d83f3bcd3abbcb5b8b72',
    details: {
      parent_model: '',
      format: 'gguf',
      family,
      families: [family],
      parameter_size,
      quantization_level: 'Q4_K_M',
    },
  });
  const models = [
    model('nomic-embed-text:latest', 'nomic-bert', '137M'),
    model('llama3.2:latest', 'llama', '3.2B'),
    {
      ...model('gpt-oss:120b-cloud', 'gptoss', '116.8B'),
      size: 384,
      remote_model: 'gpt-oss:120b',
      remote_host: 'https://ollama.com:443',
    },
  ];
  return start(
    {
      '/api/tags': { models },
      '/api/ps': () => ({ models: isLoaded ? [{ ...models[1], size_vram: 0, context_length: 4_096 }] : [] }),
      '/v1/models': {
        object: 'list',
        data: models.map(({ name }) => ({ id: name, object: 'model', created: 0, owned_by: 'library' })),
      },
    },
    { ...options, onChat },
  );
}

/**
 * llama.cpp's server: one model, in memory from the start, named by its file. The path of Ollama's list has
 * the same handler as OpenAI's.
 */
export function startLlamaCpp(options: LocalLlmOptions = {}): Promise<LocalLlmServer> {
  const id = '/models/qwen2.5-3b-instruct-q4_k_m.gguf';
  const meta = {
    vocab_type: 2,
    n_vocab: 151_936,
    n_ctx_train: 32_768,
    n_embd: 2_048,
    n_params: 3_085_938_688,
  };
  const details = {
    parent_model: '',
    format: 'gguf',
    family: '',
    families: [''],
    parameter_size: '',
    quantization_level: '',
  };
  const list = {
    models: [
      {
        name: id,
        model: id,
        modified_at: '',
        size: '',
        digest: '',
        type: 'model',
        description: '',
        tags: [''],
        capabilities: ['completion'],
        parameters: '',
        details,
      },
    ],
    object: 'list',
    data: [{ id, object: 'model', created: 1_735_142_223, owned_by: 'llamacpp', meta }],
  };
  return start(
    {
      '/v1/models': list,
      '/api/tags': list,
      '/props': {
        default_generation_settings: { id: 0, n_ctx: 8_192, is_processing: false },
        total_slots: 1,
        model_path: id,
        chat_template: '{% for message in messages %}…',
      },
    },
    options,
  );
}

/** LM Studio, with its REST API beside OpenAI's. */
export function startLmStudio(options: LocalLlmOptions = {}): Promise<LocalLlmServer> {
  const isLoaded = options.isLoaded ?? true;
  const models = [
    { id: 'text-embedding-nomic-embed-text-v1.5', type: 'embeddings', max_context_length: 2_048 },
    { id: 'qwen/qwen3-4b-2507', type: 'llm', max_context_length: 262_144, loaded_context_length: 16_384 },
  ].map((model) => ({
    ...model,
    object: 'model',
    publisher: 'qwen',
    arch: 'qwen3',
    compatibility_type: 'gguf',
    quantization: 'Q4_K_M',
    state: isLoaded && model.type === 'llm' ? 'loaded' : 'not-loaded',
  }));
  return start(
    {
      '/api/v0/models': { object: 'list', data: models },
      '/v1/models': {
        object: 'list',
        data: models.map(({ id }) => ({ id, object: 'model', owned_by: 'organization_owner' })),
      },
    },
    options,
  );
}

/** vLLM: OpenAI's list of models, with the length of their context. */
export function startVllm(options: LocalLlmOptions = {}): Promise<LocalLlmServer> {
  const id = 'meta-llama/Llama-3.1-8B-Instruct';
  const card = { object: 'model', created: 1_735_142_223, owned_by: 'vllm', root: id, parent: null };
  return start({ '/v1/models': { object: 'list', data: [{ id, ...card, max_model_len: 32_768 }] } }, options);
}

async function start(
  documents: NonNullable<OpenaiServerOptions['documents']>,
  { tools = 'called', onChat, outputTokens }: LocalLlmOptions,
): Promise<LocalLlmServer> {
  const answerTo = (isToolAsked: boolean): ChatScript => {
    if (!isToolAsked || tools === 'not_called') return say(POEM);
    if (tools === 'called') return callTool('get_time', { city: 'Paris' });
    return { ...say(''), refusal: tools === 'busy' ? 503 : 400 };
  };
  const server = await startOpenaiServer({
    documents,
    ...(outputTokens === undefined ? {} : { outputTokens }),
    chat: (body) => {
      onChat?.();
      return answerTo(Array.isArray(body['tools']));
    },
  });
  return Object.assign(server, { address: server.url.replace(/\/v1$/, '') });
}

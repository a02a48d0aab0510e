/**
 * What a deployment offers to agents: language models, recognition models and voices, and which of each a new
 * agent starts with (`GET /v1/agent/models`).
 */
import { isVendorConfigured, type Settings, type Vendor, vendorAccess } from './env.ts';
import {
  DEMO_MODEL_ID,
  isModelAllowed,
  LANGUAGE_MODELS,
  type LanguageVendor,
  vendorOfModel,
} from './language-models.ts';

/**
 * What this machine can do beyond its settings; `detectLocalRecognition` and `detectEspeakVoices` of
 * media/speech find out.
 */
export interface SpeechCapabilities {
  /** Local recognisers that can run here, best first. */
  readonly localRecognition: readonly LocalRecognition[];
  /** Local voices beyond those that are always there. */
  readonly localVoices?: readonly ProviderVoice[];
}

/** Kinds of local recogniser. */
export type LocalRecognition = 'sherpa' | 'pocketsphinx';

/** One model on offer. */
export interface OfferedModel {
  readonly id: string;
  readonly default: boolean;
}

/** One voice on offer. */
interface OfferedVoice extends OfferedModel {
  readonly name: string;
  readonly languages: readonly string[];
}

/** Everything on offer, in the shape of `GET /v1/agent/models`. */
export interface PlatformModels {
  readonly llm: readonly OfferedModel[];
  readonly asr: readonly OfferedModel[];
  readonly voices: readonly OfferedVoice[];
}

/** What is known of a model's size and list price. */
export interface ModelFacts {
  /** Tokens of prompt and answer together. */
  readonly contextTokens: number;
  /**
   * Micro-dollars per million tokens, as the vendors list them; `cached` is input read from the vendor's
   * prompt cache.
   */
  readonly price: { readonly input: number; readonly cached: number; readonly output: number };
}

/** Facts of the models on offer; of any other a usual window is assumed. */
const MODEL_FACTS: Readonly<Record<string, ModelFacts>> = {
  'openai/gpt-4.1-mini': facts(1_047_576, 400_000, 100_000, 1_600_000),
  'openai/gpt-4.1': facts(1_047_576, 2_000_000, 500_000, 8_000_000),
  'openai/gpt-4o-mini': facts(128_000, 150_000, 75_000, 600_000),
  'anthropic/claude-haiku-4-5': facts(200_000, 1_000_000, 100_000, 5_000_000),
  'anthropic/claude-sonnet-5-5': facts(1_000_000, 2_000_000, 200_000, 10_000_000),
  'google/gemini-2.5-flash-lite': facts(1_048_576, 100_000, 10_000, 400_000),
  'google/gemini-3.8-flash': facts(1_048_576, 750_000, 75_000, 3_750_000),
  'groq/llama-3.3-70b-versatile': facts(131_072, 590_000, 590_000, 790_000),
  'groq/llama-3.1-8b-instant': facts(131_072, 50_000, 50_000, 80_000),
};

/**
 * Tokens a model is trusted with when nothing is known of it: what self-hosted models are commonly served
 * with at least.
 */
const UNKNOWN_CONTEXT_TOKENS = 32_768;

/** Prompt and answer of this model, in tokens. */
export function contextTokensOf(modelId: string): number {
  return MODEL_FACTS[modelId]?.contextTokens ?? UNKNOWN_CONTEXT_TOKENS;
}

/** The list price of a model, or null where it is not known. */
export function priceOf(modelId: string): ModelFacts['price'] | null {
  return MODEL_FACTS[modelId]?.price ?? null;
}

/** Price assumed for a model without a list price: above every price on the list. */
const UNKNOWN_PRICE: ModelFacts['price'] = { input: 5_000_000, cached: 5_000_000, output: 25_000_000 };

/**
 * What a generation cost at list price, micro-dollars, rounded up; a model of unknown price counts as a dear
 * one, the rule-based one as free.
 */
export function costOf(
  modelId: string,
  tokens: { readonly inputTokens: number | null; readonly outputTokens: number | null },
): number {
  if (modelId === DEMO_MODEL_ID) return 0;
  const price = priceOf(modelId) ?? UNKNOWN_PRICE;
  return Math.ceil(
    ((tokens.inputTokens ?? 0) * price.input + (tokens.outputTokens ?? 0) * price.output) / 1_000_000,
  );
}

function facts(contextTokens: number, input: number, cached: number, output: number): ModelFacts {
  return { contextTokens, price: { input, cached, output } };
}

/** The best local recogniser installed, or none: stays valid when a model is added to the machine later. */
export const LOCAL_RECOGNITION_ID = 'local:auto';

/** Models of OpenAI's that listen live. */
const OPENAI_LIVE_MODELS: readonly string[] = ['gpt-live-transcribe', 'gpt-realtime-whisper'];

/** True for a model of OpenAI's that listens live; the others are sent one utterance a request. */
export function isLiveRecognitionModel(model: string): boolean {
  return OPENAI_LIVE_MODELS.includes(model);
}

const RECOGNITION_MODELS = {
  deepgram: ['nova-3', 'nova-2'],
  openai: [
    'gpt-live-transcribe',
    'gpt-realtime-whisper',
    'gpt-4o-mini-transcribe',
    'gpt-4o-transcribe',
    'whisper-1',
  ],
  assemblyai: ['universal-3-5-pro', 'universal-streaming-english', 'universal-streaming-multilingual'],
} as const satisfies Partial<Record<Vendor, readonly string[]>>;

/** A voice of a synthesis provider, before its provider is put in front of its id. */
export interface ProviderVoice {
  readonly id: string;
  readonly name: string;
  readonly languages: readonly string[];
}

/** Voices by synthesis provider, the provider's default first. */
export const PROVIDER_VOICES = {
  local: [
    { id: 'slt', name: 'Slt (woman, US)', languages: ['en'] },
    { id: 'rms', name: 'Rms (man, US)', languages: ['en'] },
    { id: 'awb', name: 'Awb (man, Scottish)', languages: ['en'] },
    { id: 'kal16', name: 'Kal (man, US, robotic)', languages: ['en'] },
    { id: 'kal', name: 'Kal (man, US, robotic, 8 kHz)', languages: ['en'] },
  ],
  openai: ['alloy', 'ash', 'coral', 'echo', 'fable', 'nova', 'onyx', 'sage', 'shimmer'].map((id) => ({
    id,
    name: `${id.charAt(0).toUpperCase()}${id.slice(1)}`,
    languages: ['multilingual'],
  })),
  elevenlabs: [
    { id: 'EXAVITQu4vr4xnSDxMaL', name: 'Sarah', languages: ['multilingual'] },
    { id: 'JBFqnCBsd6RMkjVDRZzb', name: 'George', languages: ['multilingual'] },
    { id: 'cgSgspJ2msm6clMCkdW9', name: 'Jessica', languages: ['multilingual'] },
    { id: 'nPczCjzI2devNBz1zQrb', name: 'Brian', languages: ['multilingual'] },
  ],
  cartesia: [
    { id: 'f786b574-daa5-4673-aa0c-cbe3e8534c02', name: 'Katie', languages: ['multilingual'] },
    { id: 'c961b81c-a935-4c17-bfb3-ba2239de8c2f', name: 'Kyle', languages: ['multilingual'] },
    { id: '6ccbfb76-1fc6-48f7-b71d-91ac6298247b', name: 'Tessa', languages: ['multilingual'] },
  ],
  deepgram: [
    'thalia-en',
    'orion-en',
    'agustina-es',
    'alvaro-es',
    'aurelia-de',
    'fabian-de',
    'agathe-fr',
    'hector-fr',
    'cinzia-it',
    'cesare-it',
    'ama-ja',
    'ebisu-ja',
    'beatrix-nl',
  ].map((voice) => ({
    id: `aura-2-${voice}`,
    name: `${voice.charAt(0).toUpperCase()}${voice.slice(1, -3)} (${voice.slice(-2)})`,
    languages: [voice.slice(-2)],
  })),
} as const satisfies Record<string, readonly ProviderVoice[]>;

/** What may be configured in this deployment, each list with exactly one default. */
export function platformModels(settings: Settings, capabilities: SpeechCapabilities): PlatformModels {
  return {
    llm: languageModels(settings),
    asr: recognitionModels(settings, capabilities),
    voices: voices(settings, capabilities),
  };
}

function languageModels(settings: Settings): OfferedModel[] {
  const vendors = Object.entries(LANGUAGE_MODELS) as [LanguageVendor, readonly string[]][];
  const allowed = settings.LLM_ALLOWED;
  const offered = [
    ...vendors.flatMap(([vendor, models]) => models.map((model) => `${vendor}/${model}`)),
    ...(allowed ?? []),
  ].filter((id) => {
    const vendor = vendorOfModel(id);
    return (
      vendor !== null &&
      !id.endsWith('/*') &&
      isVendorConfigured(settings, vendor) &&
      isModelAllowed(allowed, id)
    );
  });
  const isKeyed = (vendor: LanguageVendor | null) =>
    vendor !== null && vendorAccess(settings, vendor).apiKey !== undefined;
  const first = settings.LLM_DEFAULT ?? offered.find((id) => isKeyed(vendorOfModel(id))) ?? DEMO_MODEL_ID;
  return withDefault([...offered, DEMO_MODEL_ID], first);
}

function recognitionModels(settings: Settings, capabilities: SpeechCapabilities): OfferedModel[] {
  const vendors = Object.entries(RECOGNITION_MODELS) as [
    keyof typeof RECOGNITION_MODELS,
    readonly string[],
  ][];
  const remote = vendors
    .filter(([vendor]) => isVendorConfigured(settings, vendor))
    .flatMap(([vendor, models]) => models.map((model) => `${vendor}:${model}`));
  const local = capabilities.localRecognition.map((kind) => `local:${kind}`);
  const chosen = settings.ASR_PROVIDER;
  const first =
    chosen === 'local' ? LOCAL_RECOGNITION_ID : `${chosen}:${defaultRecognitionModel(settings, chosen)}`;
  return withDefault([...remote, LOCAL_RECOGNITION_ID, ...local], first);
}

/** Servers of one's own that speak OpenAI's protocol have its transcription of files, and seldom more. */
function defaultRecognitionModel(settings: Settings, vendor: keyof typeof RECOGNITION_MODELS): string {
  const isOwnServer = vendor === 'openai' && vendorAccess(settings, vendor).baseUrl !== undefined;
  return isOwnServer ? 'gpt-4o-mini-transcribe' : RECOGNITION_MODELS[vendor][0];
}

function voices(settings: Settings, { localVoices = [] }: SpeechCapabilities): OfferedVoice[] {
  const voicesOf = (provider: keyof typeof PROVIDER_VOICES): readonly ProviderVoice[] =>
    provider === 'local' ? [...PROVIDER_VOICES.local, ...localVoices] : PROVIDER_VOICES[provider];
  const providers = Object.keys(PROVIDER_VOICES) as (keyof typeof PROVIDER_VOICES)[];
  const offerings = providers
    .filter((provider) => provider === 'local' || isVendorConfigured(settings, provider))
    .flatMap((provider) =>
      voicesOf(provider).map((voice) => ({ ...voice, id: `${provider}:${voice.id}`, default: false })),
    );
  // The default voice is the provider's own choice for the language.
  const languages = [...new Set(voicesOf(settings.TTS_PROVIDER).flatMap((voice) => voice.languages))];
  return [{ id: 'default', name: 'Default', languages, default: true }, ...offerings];
}

function withDefault(ids: readonly string[], first: string): OfferedModel[] {
  return [...new Set([first, ...ids])].map((id) => ({ id, default: id === first }));
}

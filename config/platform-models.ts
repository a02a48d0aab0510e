/**
 * Language models, recognition models and voices that a deployment offers to agents, and the defaults of new
 * agents (`GET /v1/agent/models`).
 */
import type { Settings } from './env.ts';
import { DEMO_MODEL_ID, isModelAllowed, languageModelsOf, vendorOfModel } from './language-models.ts';
import type { LocalModel } from './local-models.ts';
import { isVendorConfigured, vendorAccess } from './vendor-access.ts';
import {
  LANGUAGE_VENDORS,
  type LanguageVendor,
  type ProviderVoice,
  RECOGNITION_VENDORS,
  type RecognitionOffer,
  type RecognitionVendor,
  SYNTHESIS_VENDORS,
  VENDORS,
} from './vendors.ts';

/**
 * Capabilities of this machine beyond its settings, found by `detectLocalRecognition` and
 * `detectEspeakVoices` of media/speech.
 */
export interface SpeechCapabilities {
  /** Available local recognisers, best first. */
  readonly localRecognition: readonly LocalRecognition[];
  /** Local voices beyond the built-in ones. */
  readonly localVoices?: readonly ProviderVoice[];
}

/** Kinds of local recognisers. */
export type LocalRecognition = 'sherpa' | 'pocketsphinx';

/** An offered model. */
export interface OfferedModel {
  readonly id: string;
  readonly default: boolean;
}

/** An offered language model. The figures of a local one are absent until they are known. */
export interface OfferedLanguageModel extends OfferedModel {
  readonly context_tokens?: number;
  /** Whether it called a tool when it was asked to. */
  readonly tools?: boolean;
  readonly tokens_per_second?: number;
}

/** An offered voice. */
interface OfferedVoice extends OfferedModel {
  readonly name: string;
  readonly languages: readonly string[];
}

/** The whole offer, in the shape of `GET /v1/agent/models`. */
export interface PlatformModels {
  readonly llm: readonly OfferedLanguageModel[];
  readonly asr: readonly OfferedModel[];
  readonly voices: readonly OfferedVoice[];
}

/** The best local recogniser installed, or none: stays valid if a model is installed later. */
export const LOCAL_RECOGNITION_ID = 'local:auto';

/** Voices without a vendor, the default first. */
export const LOCAL_VOICES = [
  { id: 'slt', name: 'Slt (woman, US)', languages: ['en'] },
  { id: 'rms', name: 'Rms (man, US)', languages: ['en'] },
  { id: 'awb', name: 'Awb (man, Scottish)', languages: ['en'] },
  { id: 'kal16', name: 'Kal (man, US, robotic)', languages: ['en'] },
  { id: 'kal', name: 'Kal (man, US, robotic, 8 kHz)', languages: ['en'] },
] as const satisfies readonly ProviderVoice[];

/** The offer of this deployment, each list with exactly one default. */
export function platformModels(settings: Settings, capabilities: SpeechCapabilities): PlatformModels {
  return {
    llm: languageModels(settings),
    asr: recognitionModels(settings, capabilities),
    voices: voices(settings, capabilities),
  };
}

/**
 * Like `platformModels`, for speech models and models of local servers (`offered`) that come and go while the
 * program runs: each read is up to date.
 */
export function currentPlatformModels(
  settings: Settings,
  capabilities: () => SpeechCapabilities,
  offered: () => readonly LocalModel[],
): PlatformModels {
  return {
    get llm() {
      return languageModels(settings, offered());
    },
    get asr() {
      return recognitionModels(settings, capabilities());
    },
    get voices() {
      return voices(settings, capabilities());
    },
  };
}

function languageModels(settings: Settings, local: readonly LocalModel[] = []): OfferedLanguageModel[] {
  const allowed = settings.LLM_ALLOWED;
  const offered = [
    ...LANGUAGE_VENDORS.flatMap((vendor) => languageModelsOf(vendor).map((model) => `${vendor}/${model}`)),
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
  const localIds = local.map(({ id }) => id).filter((id) => isModelAllowed(allowed, id));
  return withDefault([...offered, ...localIds, DEMO_MODEL_ID], first).map((model) => ({
    ...model,
    ...figuresOf(local.find(({ id }) => id === model.id)),
  }));
}

function figuresOf(model: LocalModel | undefined): Partial<OfferedLanguageModel> {
  if (!model) return {};
  const { context_tokens, tools, tokens_per_second } = model;
  return {
    ...(context_tokens === null ? {} : { context_tokens }),
    ...(tools === null ? {} : { tools: tools === 'called' }),
    ...(tokens_per_second === null ? {} : { tokens_per_second }),
  };
}

function recognitionModels(settings: Settings, capabilities: SpeechCapabilities): OfferedModel[] {
  const remote = RECOGNITION_VENDORS.filter((vendor) => isVendorConfigured(settings, vendor)).flatMap(
    (vendor) => VENDORS[vendor].recognition.models.map((model) => `${vendor}:${model}`),
  );
  const local = capabilities.localRecognition.map((kind) => `local:${kind}`);
  const chosen = settings.ASR_PROVIDER;
  const first =
    chosen === 'local' ? LOCAL_RECOGNITION_ID : `${chosen}:${defaultRecognitionModel(settings, chosen)}`;
  return withDefault([...remote, LOCAL_RECOGNITION_ID, ...local], first);
}

function defaultRecognitionModel(settings: Settings, vendor: RecognitionVendor): string {
  const { models, ownServerModel = models[0] }: RecognitionOffer = VENDORS[vendor].recognition;
  return vendorAccess(settings, vendor).baseUrl === undefined ? models[0] : ownServerModel;
}

function voices(settings: Settings, { localVoices = [] }: SpeechCapabilities): OfferedVoice[] {
  const voicesOf = (provider: Settings['TTS_PROVIDER']): readonly ProviderVoice[] =>
    provider === 'local' ? [...LOCAL_VOICES, ...localVoices] : VENDORS[provider].voices;
  const configured = SYNTHESIS_VENDORS.filter((vendor) => isVendorConfigured(settings, vendor));
  const offerings = (['local', ...configured] as const).flatMap((provider) =>
    voicesOf(provider).map((voice) => ({ ...voice, id: `${provider}:${voice.id}`, default: false })),
  );
  // The default voice is the provider's own choice for the language.
  const languages = [...new Set(voicesOf(settings.TTS_PROVIDER).flatMap((voice) => voice.languages))];
  return [{ id: 'default', name: 'Default', languages, default: true }, ...offerings];
}

function withDefault(ids: readonly string[], first: string): OfferedModel[] {
  return [...new Set([first, ...ids])].map((id) => ({ id, default: id === first }));
}

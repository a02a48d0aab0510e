/**
 * The vendors of language models and speech, one row each: settings, offered models and voices, and engines
 * derive from it. A speech vendor has its engine in media/speech/vendors as well.
 */

/** Size and list price of a language model. */
export interface ModelFacts {
  /** Tokens of prompt and answer together. */
  readonly contextTokens: number;
  /** Micro-dollars per million tokens; `cached` is input read from the vendor's prompt cache. */
  readonly price: { readonly input: number; readonly cached: number; readonly output: number };
}

/** A voice of a synthesis engine; its offered id has the engine's name as prefix. */
export interface ProviderVoice {
  readonly id: string;
  readonly name: string;
  readonly languages: readonly string[];
}

/** Recognition at a vendor. */
export interface RecognitionOffer {
  /** Vendors with a smaller number are preferred. */
  readonly order: number;
  /** The default first. */
  readonly models: readonly [string, ...string[]];
  /** Models that recognise live; the others get one utterance per request. Absent: all are live. */
  readonly liveModels?: readonly string[];
  /** Default model of a self-hosted server with the vendor's protocol; absent: that of the vendor. */
  readonly ownServerModel?: string;
}

/** A vendor. */
interface VendorRow {
  /** Language models it serves, the default first. */
  readonly languageModels?: Readonly<Record<string, ModelFacts>>;
  /** Default base address of its speech API; `{region}` is the region of its settings. */
  readonly speechUrl?: string;
  readonly recognition?: RecognitionOffer;
  /** Voices, the default first. */
  readonly voices?: readonly ProviderVoice[];
  /** It clones voices, at the base address of its speech API. */
  readonly clonesVoices?: true;
}

/**
 * By name, which is also the prefix of its settings (`OPENAI_API_KEY`, `OPENAI_BASE_URL`). The order is the
 * order of preference for language models and voices.
 */
export const VENDORS = {
  openai: {
    languageModels: {
      'gpt-4.1-mini': facts(1_047_576, 400_000, 100_000, 1_600_000),
      'gpt-4.1': facts(1_047_576, 2_000_000, 500_000, 8_000_000),
      'gpt-4o-mini': facts(128_000, 150_000, 75_000, 600_000),
    },
    speechUrl: 'https://api.openai.com/v1',
    recognition: {
      order: 2,
      models: [
        'gpt-live-transcribe',
        'gpt-realtime-whisper',
        'gpt-4o-mini-transcribe',
        'gpt-4o-transcribe',
        'whisper-1',
      ],
      liveModels: ['gpt-live-transcribe', 'gpt-realtime-whisper'],
      // Such a server usually only transcribes files.
      ownServerModel: 'gpt-4o-mini-transcribe',
    },
    voices: ['alloy', 'ash', 'coral', 'echo', 'fable', 'nova', 'onyx', 'sage', 'shimmer'].map((id) => ({
      id,
      name: capitalised(id),
      languages: ['multilingual'],
    })),
  },
  anthropic: {
    languageModels: {
      'claude-haiku-4-5': facts(200_000, 1_000_000, 100_000, 5_000_000),
      'claude-sonnet-5-5': facts(1_000_000, 2_000_000, 200_000, 10_000_000),
    },
  },
  google: {
    languageModels: {
      'gemini-2.5-flash-lite': facts(1_048_576, 100_000, 10_000, 400_000),
      'gemini-3.8-flash': facts(1_048_576, 750_000, 75_000, 3_750_000),
    },
  },
  groq: {
    languageModels: {
      'llama-3.3-70b-versatile': facts(131_072, 590_000, 590_000, 790_000),
      'llama-3.1-8b-instant': facts(131_072, 50_000, 50_000, 80_000),
    },
  },
  elevenlabs: {
    speechUrl: 'wss://api.elevenlabs.io',
    clonesVoices: true,
    voices: [
      { id: 'EXAVITQu4vr4xnSDxMaL', name: 'Sarah', languages: ['multilingual'] },
      { id: 'JBFqnCBsd6RMkjVDRZzb', name: 'George', languages: ['multilingual'] },
      { id: 'cgSgspJ2msm6clMCkdW9', name: 'Jessica', languages: ['multilingual'] },
      { id: 'nPczCjzI2devNBz1zQrb', name: 'Brian', languages: ['multilingual'] },
    ],
  },
  cartesia: {
    speechUrl: 'wss://api.cartesia.ai',
    voices: [
      { id: 'f786b574-daa5-4673-aa0c-cbe3e8534c02', name: 'Katie', languages: ['multilingual'] },
      { id: 'c961b81c-a935-4c17-bfb3-ba2239de8c2f', name: 'Kyle', languages: ['multilingual'] },
      { id: '6ccbfb76-1fc6-48f7-b71d-91ac6298247b', name: 'Tessa', languages: ['multilingual'] },
    ],
  },
  deepgram: {
    speechUrl: 'wss://api.deepgram.com',
    recognition: { order: 1, models: ['nova-3', 'nova-2', 'flux-general-en', 'flux-general-multi'] },
    voices: [
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
      name: `${capitalised(voice.slice(0, -3))} (${voice.slice(-2)})`,
      languages: [voice.slice(-2)],
    })),
  },
  assemblyai: {
    speechUrl: 'wss://streaming.assemblyai.com',
    recognition: {
      order: 3,
      models: ['universal-3-5-pro', 'universal-streaming-english', 'universal-streaming-multilingual'],
    },
  },
  azure: {
    speechUrl: 'https://{region}.api.cognitive.microsoft.com',
    recognition: { order: 4, models: ['conversation', 'dictation'] },
    voices: [
      ...['Ava', 'Andrew', 'Emma', 'Brian'].map((name) => ({
        id: `en-US-${name}MultilingualNeural`,
        name: `${name} (multilingual)`,
        languages: ['multilingual'],
      })),
      ...[
        'en-US-Jenny',
        'en-US-Guy',
        'en-GB-Sonia',
        'en-GB-Ryan',
        'de-DE-Katja',
        'de-DE-Conrad',
        'fr-FR-Denise',
        'fr-FR-Henri',
        'es-ES-Elvira',
        'es-ES-Alvaro',
        'es-MX-Dalia',
        'it-IT-Elsa',
        'it-IT-Diego',
        'nl-NL-Colette',
        'nl-NL-Maarten',
        'pt-BR-Francisca',
        'pt-BR-Antonio',
        'ja-JP-Nanami',
        'ja-JP-Keita',
        'zh-CN-Xiaoxiao',
        'ko-KR-SunHi',
        'pl-PL-Agnieszka',
        'tr-TR-Emel',
        'hi-IN-Swara',
      ].map((voice) => ({
        id: `${voice}Neural`,
        name: `${voice.slice(6)} (${voice.slice(0, 5)})`,
        languages: [voice.slice(0, 2)],
      })),
    ],
  },
  // Gemini's keys do not open these APIs.
  google_cloud: {
    speechUrl: 'https://googleapis.com',
    recognition: { order: 5, models: ['latest_long', 'telephony', 'latest_short', 'phone_call'] },
    voices: ['Kore', 'Charon', 'Aoede', 'Puck', 'Leda', 'Fenrir', 'Zephyr', 'Orus'].map((name) => ({
      id: `Chirp3-HD-${name}`,
      name: `${name} (Chirp 3 HD)`,
      languages: ['multilingual'],
    })),
  },
} as const satisfies Readonly<Record<string, VendorRow>>;

/** A vendor's name. */
export type Vendor = keyof typeof VENDORS;

type VendorWith<Field extends keyof VendorRow> = {
  [V in Vendor]: (typeof VENDORS)[V] extends Required<Pick<VendorRow, Field>> ? V : never;
}[Vendor];

/** A vendor of language models. */
export type LanguageVendor = VendorWith<'languageModels'>;

/** A vendor of recognition. */
export type RecognitionVendor = VendorWith<'recognition'>;

/** A vendor of synthesis. */
export type SynthesisVendor = VendorWith<'voices'>;

/** A vendor that clones voices. */
export type CloningVendor = VendorWith<'clonesVoices'>;

export const VENDOR_NAMES = Object.keys(VENDORS) as Vendor[];
export const LANGUAGE_VENDORS = vendorsWith('languageModels');
export const RECOGNITION_VENDORS = vendorsWith('recognition').sort(
  (one, other) => VENDORS[one].recognition.order - VENDORS[other].recognition.order,
);
export const SYNTHESIS_VENDORS = vendorsWith('voices');

/** True for a model that recognises live. */
export function isLiveModel(vendor: RecognitionVendor, model: string): boolean {
  const { liveModels }: RecognitionOffer = VENDORS[vendor].recognition;
  return liveModels?.includes(model) ?? true;
}

function vendorsWith<Field extends keyof VendorRow>(field: Field): VendorWith<Field>[] {
  return VENDOR_NAMES.filter((name): name is VendorWith<Field> => field in VENDORS[name]);
}

function facts(contextTokens: number, input: number, cached: number, output: number): ModelFacts {
  return { contextTokens, price: { input, cached, output } };
}

function capitalised(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

/**
 * The speech engines of one worker, as settings and machine allow, and their description for the start
 * message.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Settings } from '#config/env.ts';
import {
  LOCAL_RECOGNITION_ID,
  type PlatformModels,
  platformModels,
  type SpeechCapabilities,
} from '#config/platform-models.ts';
import { isVendorConfigured } from '#config/vendor-access.ts';
import type { VendorMeters } from '#config/vendor-meters.ts';
import { type RecognitionVendor, SYNTHESIS_VENDORS, type SynthesisVendor } from '#config/vendors.ts';
import { EngineHealth } from './engine-health.ts';
import { failOverRecognizer, failOverSynthesizer } from './fail-over.ts';
import { createEspeak, detectEspeakVoices } from './local/espeak.ts';
import { openFlite } from './local/flite.ts';
import { findLocalRecogniser, localRecognition } from './local/local-recognition.ts';
import { localSynthesizer } from './local/local-synthesizer.ts';
import { ModelEngines } from './local/model-engines.ts';
import { findPocketsphinx, openPocketsphinx } from './local/pocketsphinx.ts';
import { measureFinals } from './measured-finals.ts';
import { type InstalledModels, watchModels } from './models/installed-models.ts';
import { bytesOf, readModelTable, recommended } from './models/model-table.ts';
import { PhraseCache } from './phrase-cache.ts';
import type { Recognizer, SynthesisOutlook, Synthesizer } from './speech.ts';
import { createAssemblyaiRecognizer } from './vendors/assemblyai.ts';
import { createAzureRecognizer } from './vendors/azure.ts';
import { createAzureSynthesizer } from './vendors/azure-speech.ts';
import { createCartesiaSynthesizer } from './vendors/cartesia.ts';
import { createDeepgramRecognizer } from './vendors/deepgram.ts';
import { createDeepgramSynthesizer } from './vendors/deepgram-speech.ts';
import { createElevenlabsSynthesizer } from './vendors/elevenlabs.ts';
import { createGoogleRecognizer } from './vendors/google.ts';
import { createGoogleSynthesizer } from './vendors/google-speech.ts';
import { createOpenaiRecognizer, createOpenaiSynthesizer } from './vendors/openai.ts';
import { speechAccess } from './vendors/speech-access.ts';

/** Options of the engines. */
export interface SpeechEnginesOptions {
  readonly settings: Settings;
  /** The environment's `PATH`, searched for local programs. */
  readonly searchPath: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Measures the requests of calls; absent: they are not measured. */
  readonly vendors?: VendorMeters;
}

/** An engine on a server of the agent's owner. */
export interface OwnEngine<Engine> {
  readonly engine: Engine;
  /** When it fails, the engines of the platform take over. */
  readonly hasFallback: boolean;
}

/**
 * The engines of one process, shared by its calls. A model installed while it runs is used from the next call
 * on; a call in progress keeps the engines it has.
 */
export interface SpeechEngines {
  /**
   * The recogniser of an `asr.model` for a language (ISO 639-1; null: unknown); the platform's default for an
   * unknown model. Null if there is none: keypad and typed input remain.
   */
  recognizerFor(asrModelId: string, language: string | null): Recognizer | null;
  /**
   * The synthesiser of a `voice_id`, using that voice unless the options name another; the platform's default
   * for an unknown one.
   */
  synthesizerFor(voiceId: string): Synthesizer;
  /**
   * For one call: like `recognizerFor`, with the engines of other configured vendors and a local streaming
   * model as fallbacks. The agent's own comes before them.
   */
  callRecognizer(asrModelId: string, language: string, own?: OwnEngine<Recognizer>): Recognizer | null;
  /**
   * For one call: like `synthesizerFor`, with other engines that speak the language (ISO 639-1) as fallbacks,
   * the local one last. The agent's own comes before them.
   */
  callSynthesizer(voiceId: string, language: string, own?: OwnEngine<Synthesizer>): Synthesizer;
  /** Loads this recogniser if calls use it, so that the next call does not wait for it. */
  prepare(modelId: string): void;
  /** Lines for people that name the engines in use. */
  describe(): string[];
  close(): Promise<void>;
}

/**
 * Finds the local recognisers and voices of this machine: models whenever asked, programs now. Nothing is run
 * or loaded.
 */
export function detectCapabilities({
  settings,
  searchPath,
  clock,
}: Omit<SpeechEnginesOptions, 'logger' | 'vendors'>): () => SpeechCapabilities {
  const installed = watchModels(settings.DATA_DIR, readModelTable(settings.MODELS_TABLE), clock);
  const programs = {
    hasPocketsphinx: findPocketsphinx(searchPath) !== null,
    espeakVoices: detectEspeakVoices(),
  };
  return () => capabilitiesOf(installed(), programs);
}

/** Programs that are looked for once: what is installed later is used from the next start. */
interface SpeechPrograms {
  readonly hasPocketsphinx: boolean;
  readonly espeakVoices: ReturnType<typeof detectEspeakVoices>;
}

function capabilitiesOf(
  models: InstalledModels,
  { hasPocketsphinx, espeakVoices }: SpeechPrograms,
): SpeechCapabilities {
  return {
    localRecognition: localRecognition(models, hasPocketsphinx),
    localVoices: [
      ...models.voices.map(({ id, title, languages }) => ({ id, name: title, languages })),
      ...espeakVoices,
    ],
  };
}

/** Opens the engines; local synthesis is warm when this resolves. */
export async function openSpeechEngines(options: SpeechEnginesOptions): Promise<SpeechEngines> {
  const { settings, clock, logger, vendors } = options;
  const table = readModelTable(settings.MODELS_TABLE);
  const installed = watchModels(settings.DATA_DIR, table, clock);
  const [flite, pocketsphinx] = await Promise.all([openFlite(), openInstalledPocketsphinx(options)]);
  const models = new ModelEngines(installed, clock);
  const phrases = new PhraseCache(clock);
  const english = phrases.of(flite);
  const programs = { hasPocketsphinx: pocketsphinx !== null, espeakVoices: detectEspeakVoices() };
  const espeak = programs.espeakVoices.length > 0 ? [phrases.of(createEspeak(clock))] : [];
  /** With the voices of now: a call keeps them, and its voice, until its end. */
  const localVoices = () =>
    localSynthesizer([english, ...models.voices().map((voice) => phrases.of(voice)), ...espeak]);
  const offered = () => platformModels(settings, capabilitiesOf(installed(), programs)).asr;
  const recognition = openRecognition(options, { models, pocketsphinx, offered });
  const remote = new Map(remoteSynthesizers(settings, clock, phrases));
  const platformTts = () => remote.get(settings.TTS_PROVIDER) ?? localVoices();
  const failover = { health: new EngineHealth(clock), clock, logger, vendors };
  const synthesizerFor = (voiceId: string) => {
    const { provider, voice } = parseVoice(voiceId);
    const synthesizer = provider === 'local' ? localVoices() : remote.get(provider);
    return synthesizer ? withVoice(synthesizer, voice) : withVoice(platformTts(), null);
  };
  return {
    recognizerFor: recognition.recognizerFor,
    synthesizerFor,
    callRecognizer(asrModelId, language, own) {
      const chosen = recognition.recognizerFor(asrModelId, language);
      const platform = chosen ? [chosen, ...recognition.fallbacksOf(chosen, language)] : [];
      const [first, ...rest] = withOwn(own, platform);
      return first ? failOverRecognizer([first, ...rest], failover) : null;
    },
    callSynthesizer(voiceId, language, own) {
      const chosen = synthesizerFor(voiceId);
      const others =
        chosen.id === 'local'
          ? []
          : [localVoices(), ...remote.values()].filter((engine) => speaks(engine, language)).reverse();
      const platform = [chosen, ...onePerProvider(chosen, others)];
      const kept = own && { ...own, engine: phrases.of(own.engine) };
      const [first = chosen, ...rest] = withOwn(kept, platform);
      return failOverSynthesizer([first, ...rest], failover);
    },
    prepare(modelId) {
      if (settings.ASR_PROVIDER === 'local') models.prepare(modelId);
    },
    describe() {
      const recognizer = recognition.platform(null);
      return [
        ...describe(platformTts(), recognizer),
        ...(recognizer
          ? describeFallbacks(recognizer, recognition.fallbacksOf(recognizer, null))
          : [letItHear(recommended(table))]),
      ];
    },
    close: () => closeAll([english, ...espeak, ...remote.values(), models]),
  };
}

/** The recognisers by id and language, each found when it is needed. */
function openRecognition(
  { settings, clock, logger }: SpeechEnginesOptions,
  {
    models,
    pocketsphinx,
    offered,
  }: {
    readonly models: ModelEngines;
    readonly pocketsphinx: Recognizer | null;
    readonly offered: () => PlatformModels['asr'];
  },
) {
  const remote = remoteRecognizers(settings, clock);
  const platformId = offered().find((model) => model.default)?.id ?? '';
  const find = (id: string, language: string | null) =>
    findLocalRecogniser(id, language, { models, pocketsphinx }) ?? remote(id);
  const platform = (language: string | null) =>
    find(platformId, language) ?? find(LOCAL_RECOGNITION_ID, language) ?? null;
  return {
    platform,
    recognizerFor(asrModelId: string, language: string | null): Recognizer | null {
      const found = find(asrModelId, language) ?? platform(language);
      if (found?.id !== asrModelId && asrModelId !== LOCAL_RECOGNITION_ID)
        logger.debug(
          { asrModelId, used: found?.id ?? null },
          'the agent’s recognition model is not available; another one is used',
        );
      return found;
    },
    /** Without pocketsphinx, which recognises little beyond its keyterms: silence would be better. */
    fallbacksOf(chosen: Recognizer, language: string | null): Recognizer[] {
      const found = offered().flatMap(({ id }) => find(id, language) ?? []);
      return onePerProvider(
        chosen,
        found.filter(({ id }) => id !== 'local:pocketsphinx'),
      );
    },
  };
}

async function openInstalledPocketsphinx({
  searchPath,
  clock,
}: SpeechEnginesOptions): Promise<Recognizer | null> {
  const program = findPocketsphinx(searchPath);
  return program === null ? null : openPocketsphinx(program, clock);
}

const RECOGNIZERS = {
  deepgram: createDeepgramRecognizer,
  openai: createOpenaiRecognizer,
  assemblyai: createAssemblyaiRecognizer,
  azure: createAzureRecognizer,
  google_cloud: createGoogleRecognizer,
} as const satisfies Record<RecognitionVendor, unknown>;

const SYNTHESIZERS = {
  openai: createOpenaiSynthesizer,
  elevenlabs: createElevenlabsSynthesizer,
  cartesia: createCartesiaSynthesizer,
  deepgram: createDeepgramSynthesizer,
  azure: createAzureSynthesizer,
  google_cloud: createGoogleSynthesizer,
} as const satisfies Record<SynthesisVendor, unknown>;

/**
 * Finds vendors' recognisers by `<provider>:<model>`, with any model name of a configured vendor. Each is
 * created once, because it learns its own speed.
 */
function remoteRecognizers(settings: Settings, clock: Clock): (id: string) => Recognizer | undefined {
  const made = new Map<string, Recognizer>();
  return (id) => {
    const colon = id.indexOf(':');
    const [provider, model] = [id.slice(0, colon), id.slice(colon + 1)];
    if (!isKeyOf(RECOGNIZERS, provider) || model === '' || !isVendorConfigured(settings, provider))
      return undefined;
    const create = RECOGNIZERS[provider];
    const recognizer =
      made.get(id) ?? measureFinals(create(model, { ...speechAccess(settings, provider), clock }), clock);
    made.set(id, recognizer);
    return recognizer;
  };
}

function remoteSynthesizers(settings: Settings, clock: Clock, phrases: PhraseCache): [string, Synthesizer][] {
  return SYNTHESIS_VENDORS.filter((vendor) => isVendorConfigured(settings, vendor)).map((vendor) => [
    vendor,
    phrases.of(SYNTHESIZERS[vendor]({ ...speechAccess(settings, vendor), clock })),
  ]);
}

function isKeyOf<T extends object>(table: T, key: string): key is Extract<keyof T, string> {
  return Object.hasOwn(table, key);
}

/** The engines of a call, the agent's own first. */
function withOwn<Engine>(own: OwnEngine<Engine> | undefined, platform: readonly Engine[]): readonly Engine[] {
  return own ? [own.engine, ...(own.hasFallback ? platform : [])] : platform;
}

/** The first engine of each provider other than the chosen one's. */
function onePerProvider<Engine extends { readonly id: string }>(
  chosen: Engine,
  others: readonly Engine[],
): Engine[] {
  const providerOf = ({ id }: Engine) => id.split(':')[0];
  const all = [chosen, ...others];
  return all.filter(
    (engine, index) =>
      index > 0 && all.findIndex((other) => providerOf(other) === providerOf(engine)) === index,
  );
}

function speaks({ voices }: Synthesizer, language: string): boolean {
  return voices.some(({ languages }) => languages.includes(language) || languages.includes('multilingual'));
}

function parseVoice(voiceId: string): { provider: string; voice: string } {
  const colon = voiceId.indexOf(':');
  return { provider: voiceId.slice(0, Math.max(0, colon)), voice: voiceId.slice(colon + 1) };
}

/** The synthesiser with a default voice, used if the options name none or give that voice by its full id. */
function withVoice(synthesizer: Synthesizer, voice: string | null): Synthesizer {
  const engineVoice = (asked: string | null) =>
    asked === null || asked === 'default' || asked.includes(':') ? voice : asked;
  const own = <Asked extends SynthesisOutlook>(asked: Asked): Asked => ({
    ...asked,
    voiceId: engineVoice(asked.voiceId),
  });
  return {
    ...synthesizer,
    prepare: (outlook) => synthesizer.prepare?.(own(outlook)),
    synthesise: (text, options) => synthesizer.synthesise(text, own(options)),
  };
}

function describe(synthesizer: Synthesizer, recognizer: Recognizer | null): string[] {
  const others =
    detectEspeakVoices().length > 0 ? 'eSpeak NG for other languages' : 'npm run espeak for other languages';
  const lines = [
    'Speech synthesis: ' +
      `${synthesizer.id === 'local' ? `local (Flite for English, ${others})` : synthesizer.id}`,
  ];
  lines.push(
    `Speech recognition: ${recognizer?.id ?? 'none. Callers can use the keypad, and web callers can type.'}`,
  );
  return lines;
}

/** One line for an operator without a recogniser: how to get one. */
function letItHear(model: Parameters<typeof bytesOf>[0] | undefined): string {
  const size = model ? ` (${Math.round(bytesOf(model) / 1e6)} MB)` : '';
  return (
    `To hear callers: press “Let it hear” in the console or run npx parley models${size}; no restart is ` +
    'needed. Or set ASR_PROVIDER with its key.'
  );
}

/** A local recogniser fails only with the machine: it needs no fallback. */
function describeFallbacks({ id }: Recognizer, others: readonly Recognizer[]): string[] {
  if (id.startsWith('local:')) return [];
  if (others.length > 0) return [`When ${id} fails: ${others.map((other) => other.id).join(', then ')}`];
  return [
    `When ${id} fails: callers are not understood, and are asked to repeat. A second vendor's key or npx ` +
      'parley models helps.',
  ];
}

async function closeAll(engines: readonly { close?(): Promise<void> }[]): Promise<void> {
  await Promise.all(engines.map((engine) => engine.close?.()));
}

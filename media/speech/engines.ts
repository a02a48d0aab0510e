/**
 * The speech engines of one worker, as settings and machine allow, and their description for the start
 * message.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Settings } from '#config/env.ts';
import { LOCAL_RECOGNITION_ID, type LocalRecognition, platformModels } from '#config/platform-models.ts';
import { isVendorConfigured } from '#config/vendor-access.ts';
import { type RecognitionVendor, SYNTHESIS_VENDORS, type SynthesisVendor } from '#config/vendors.ts';
import { EngineHealth } from './engine-health.ts';
import { failOverRecognizer, failOverSynthesizer } from './fail-over.ts';
import { createEspeak, detectEspeakVoices } from './local/espeak.ts';
import { openFlite } from './local/flite.ts';
import { localSynthesizer } from './local/local-synthesizer.ts';
import { findPocketsphinx, openPocketsphinx } from './local/pocketsphinx.ts';
import { createSherpa } from './local/sherpa.ts';
import { findSherpaModel } from './local/sherpa-model.ts';
import { measureFinals } from './measured-finals.ts';
import { PhraseCache } from './phrase-cache.ts';
import type { Recognizer, SynthesisOutlook, Synthesizer } from './speech.ts';
import { createAssemblyaiRecognizer } from './vendors/assemblyai.ts';
import { createCartesiaSynthesizer } from './vendors/cartesia.ts';
import { createDeepgramRecognizer } from './vendors/deepgram.ts';
import { createDeepgramSynthesizer } from './vendors/deepgram-speech.ts';
import { createElevenlabsSynthesizer } from './vendors/elevenlabs.ts';
import { createOpenaiRecognizer, createOpenaiSynthesizer } from './vendors/openai.ts';
import { speechAccess } from './vendors/speech-access.ts';

/** Options of the engines. */
export interface SpeechEnginesOptions {
  readonly settings: Settings;
  /** The environment's `PATH`, searched for local programs. */
  readonly searchPath: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The engines of one process, shared by its calls. */
export interface SpeechEngines {
  /**
   * The recogniser of an `asr.model`; the platform's default for an unknown one. Null if there is none:
   * keypad and typed input remain.
   */
  recognizerFor(asrModelId: string): Recognizer | null;
  /**
   * The synthesiser of a `voice_id`, using that voice unless the options name another; the platform's default
   * for an unknown one.
   */
  synthesizerFor(voiceId: string): Synthesizer;
  /**
   * For one call: like `recognizerFor`, with the engines of other configured vendors and a local streaming
   * model as fallbacks.
   */
  callRecognizer(asrModelId: string): Recognizer | null;
  /**
   * For one call: like `synthesizerFor`, with other engines that speak the language (ISO 639-1) as fallbacks,
   * the local one last.
   */
  callSynthesizer(voiceId: string, language: string): Synthesizer;
  /** Lines for people that name the engines in use. */
  describe(): string[];
  close(): Promise<void>;
}

/** Local recognisers available on this machine, best first. Nothing is run or loaded. */
export function detectLocalRecognition(place: {
  readonly dataDir: string;
  readonly searchPath: string;
}): LocalRecognition[] {
  const found: LocalRecognition[] = [];
  if (findSherpaModel(place.dataDir)) found.push('sherpa');
  if (findPocketsphinx(place.searchPath)) found.push('pocketsphinx');
  return found;
}

type LocalRecognizer = Recognizer & { close?(): Promise<void> };

/** Opens the engines; local synthesis is warm when this resolves. */
export async function openSpeechEngines(options: SpeechEnginesOptions): Promise<SpeechEngines> {
  const { settings, clock, logger } = options;
  const [flite, local] = await Promise.all([openFlite(), openLocalRecognizers(options)]);
  const phrases = new PhraseCache(clock);
  const localVoice = phrases.of(
    localSynthesizer([flite, ...(detectEspeakVoices().length > 0 ? [createEspeak(clock)] : [])]),
  );
  const detected = [...local.keys()].map((id) => id.slice('local:'.length) as LocalRecognition);
  const models = platformModels(settings, { localRecognition: detected });
  const platformAsr = models.asr.find((model) => model.default)?.id ?? '';
  const remote = remoteRecognizers(settings, clock);
  const find = (id: string) =>
    (id === LOCAL_RECOGNITION_ID ? [...local.values()][0] : local.get(id)) ?? remote(id);
  const platformRecognizer = () => find(platformAsr) ?? find(LOCAL_RECOGNITION_ID) ?? null;
  const synthesizers = new Map<string, Synthesizer>([
    ['local', localVoice],
    ...remoteSynthesizers(settings, clock, phrases),
  ]);
  const platformTts = synthesizers.get(settings.TTS_PROVIDER) ?? localVoice;
  const failover = { health: new EngineHealth(clock), clock, logger };
  const recognizerFor = (asrModelId: string) => {
    const found = find(asrModelId) ?? platformRecognizer();
    if (found?.id !== asrModelId && asrModelId !== LOCAL_RECOGNITION_ID)
      logger.debug(
        { asrModelId, used: found?.id ?? null },
        'the agent’s recognition model is not available; another one is used',
      );
    return found;
  };
  // Pocketsphinx recognises little beyond its keyterms: as a fallback for a vendor it would be worse than
  // silence.
  const fallbacksOf = (chosen: Recognizer) =>
    onePerProvider(
      chosen,
      models.asr.flatMap(({ id }) => find(id) ?? []).filter(({ id }) => id !== 'local:pocketsphinx'),
    );
  const synthesizerFor = (voiceId: string) => {
    const { provider, voice } = parseVoice(voiceId);
    const synthesizer = synthesizers.get(provider);
    return synthesizer ? withVoice(synthesizer, voice) : withVoice(platformTts, null);
  };
  return {
    recognizerFor,
    synthesizerFor,
    callRecognizer(asrModelId) {
      const chosen = recognizerFor(asrModelId);
      return chosen && failOverRecognizer([chosen, ...fallbacksOf(chosen)], failover);
    },
    callSynthesizer(voiceId, language) {
      const chosen = synthesizerFor(voiceId);
      const others =
        chosen.id === 'local'
          ? []
          : [...synthesizers.values()].filter((engine) => speaks(engine, language)).reverse();
      return failOverSynthesizer([chosen, ...onePerProvider(chosen, others)], failover);
    },
    describe() {
      const recognizer = platformRecognizer();
      return [
        ...describe(platformTts, recognizer),
        ...(recognizer ? describeFallbacks(recognizer, fallbacksOf(recognizer)) : []),
      ];
    },
    close: () => closeAll([...synthesizers.values(), ...local.values()]),
  };
}

async function openLocalRecognizers({
  settings,
  searchPath,
  clock,
}: SpeechEnginesOptions): Promise<Map<string, LocalRecognizer>> {
  const recognizers = new Map<string, LocalRecognizer>();
  const model = findSherpaModel(settings.DATA_DIR);
  if (model) recognizers.set('local:sherpa', createSherpa(model, clock));
  const program = findPocketsphinx(searchPath);
  if (program !== null) recognizers.set('local:pocketsphinx', await openPocketsphinx(program, clock));
  return recognizers;
}

const RECOGNIZERS = {
  deepgram: createDeepgramRecognizer,
  openai: createOpenaiRecognizer,
  assemblyai: createAssemblyaiRecognizer,
} as const satisfies Record<RecognitionVendor, unknown>;

const SYNTHESIZERS = {
  openai: createOpenaiSynthesizer,
  elevenlabs: createElevenlabsSynthesizer,
  cartesia: createCartesiaSynthesizer,
  deepgram: createDeepgramSynthesizer,
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
  if (!recognizer)
    lines.push(
      'To hear callers, install pocketsphinx (Debian: apt-get install pocketsphinx pocketsphinx-en-us), ' +
        'or set ASR_PROVIDER with its key.',
    );
  return lines;
}

/** A local recogniser fails only with the machine: it needs no fallback. */
function describeFallbacks({ id }: Recognizer, others: readonly Recognizer[]): string[] {
  if (id.startsWith('local:')) return [];
  if (others.length > 0) return [`When ${id} fails: ${others.map((other) => other.id).join(', then ')}`];
  return [
    `When ${id} fails: callers are not understood, and are asked to repeat. A second vendor's key or npm ` +
      'run models helps.',
  ];
}

async function closeAll(engines: readonly { close?(): Promise<void> }[]): Promise<void> {
  await Promise.all(engines.map((engine) => engine.close?.()));
}

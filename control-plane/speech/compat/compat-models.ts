/**
 * Model names on the compatible APIs: the platform's own, and the vendors', which select the default model.
 * All others are refused.
 */
import { fault } from '#config/errors.ts';
import { SYNTHESIS_MODELS, type SynthesisModel, synthesisModel } from '../requests/speech-models.ts';

const OWN_PREFIX = 'parley/';
const RECOGNITION_MODELS = ['transcribe-1', 'transcribe-1-pro'];

/** Vendors' names of synthesis models, dated or not. */
const SPEAKING_ALIASES =
  /^((openai\/)?(tts-1(-hd)?|gpt-4o(-mini)?-(tts|audio-preview|realtime-preview)|gpt-(audio|realtime)(-[\d.]+)?(-mini)?)(-\d{4}(-\d\d-\d\d)?)?|(elevenlabs\/)?eleven_[a-z0-9_]{2,40})$/;
/** Vendors' names of recognition models. */
const LISTENING_ALIASES =
  /^((openai\/)?(whisper-1|whisper-large-v3(-turbo)?|gpt-4o(-mini)?-transcribe)(-\d{4}-\d\d-\d\d)?|(elevenlabs\/)?scribe_v\d[a-z_]{0,20})$/;

/** The model for a synthesis; the default if none is named. Throws `model_unknown`. */
export function speakingModel(name: string | null | undefined, wallTime: number): SynthesisModel {
  if (!name || SPEAKING_ALIASES.test(name)) return synthesisModel(undefined, wallTime);
  if (!SYNTHESIS_MODELS.some((model) => model === withoutPrefix(name))) throw fault('model_unknown');
  return synthesisModel(withoutPrefix(name), wallTime);
}

/** Whether this is the name of a recognition model. */
export function isListeningModel(name: string): boolean {
  return RECOGNITION_MODELS.includes(withoutPrefix(name)) || LISTENING_ALIASES.test(name);
}

/** Throws `model_unknown` unless this is the name of a recognition model; the default if none is named. */
export function requireListeningModel(name: string | null | undefined): void {
  if (name && !isListeningModel(name)) throw fault('model_unknown');
}

/** The listed models, the recommended one first. */
export const LISTED_MODELS = [
  {
    id: 'parley/s2.1-pro',
    name: 'Parley S2.1 Pro',
    description: 'Speech synthesis; recommended',
    speaks: true,
  },
  {
    id: 'parley/s2.1-pro-free',
    name: 'Parley S2.1 Pro (free)',
    description: 'Speech synthesis, free, without a promise of latency',
    speaks: true,
  },
  { id: 'parley/s2-pro', name: 'Parley S2 Pro', description: 'Speech synthesis', speaks: true },
  {
    id: 'parley/s1',
    name: 'Parley S1',
    description: 'Speech synthesis; deprecated, served by S2.1 Pro after 31 December 2026',
    speaks: true,
  },
  {
    id: 'parley/transcribe-1',
    name: 'Parley Transcribe 1',
    description: 'Speech recognition with times of words',
    speaks: false,
  },
] as const;

function withoutPrefix(name: string): string {
  return name.startsWith(OWN_PREFIX) ? name.slice(OWN_PREFIX.length) : name;
}

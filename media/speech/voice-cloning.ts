/** Voices cloned from samples, if the vendor of the platform's voices does that. Requests only: no thread. */
import type { Settings } from '#config/env.ts';
import { type CloningVendor, VENDORS } from '#config/vendors.ts';
import type { VoiceCloning } from './speech.ts';
import { createElevenlabsCloning } from './vendors/elevenlabs-cloning.ts';
import { type SpeechAccess, speechAccess } from './vendors/speech-access.ts';

const CLONING = {
  elevenlabs: createElevenlabsCloning,
} as const satisfies Record<CloningVendor, (access: SpeechAccess) => VoiceCloning>;

/** Voice cloning of the platform's synthesis engine; null if it has none. */
export function voiceCloning(settings: Settings): VoiceCloning | null {
  const provider = settings.TTS_PROVIDER;
  return isCloningVendor(provider) ? CLONING[provider](speechAccess(settings, provider)) : null;
}

function isCloningVendor(provider: Settings['TTS_PROVIDER']): provider is CloningVendor {
  return provider !== 'local' && 'clonesVoices' in VENDORS[provider];
}

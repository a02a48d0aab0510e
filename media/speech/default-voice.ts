/** Chooses an engine's voice for a language if none was chosen. */
import type { ProviderVoice } from '#config/vendors.ts';

/** The first voice of the language, or else the engine's first. `voices` is not empty. */
export function defaultVoice(voices: readonly ProviderVoice[], language: string): string {
  const found = voices.find(
    ({ languages }) => languages.includes(language) || languages.includes('multilingual'),
  );
  return (found ?? voices[0])?.id ?? '';
}

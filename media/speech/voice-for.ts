/** Which of an engine's voices speaks a language where none was chosen. */
import type { ProviderVoice } from '#config/vendors.ts';

/** The first voice that speaks it, or the engine's first. `voices` is not empty. */
export function voiceFor(voices: readonly ProviderVoice[], language: string): string {
  const found = voices.find(
    ({ languages }) => languages.includes(language) || languages.includes('multilingual'),
  );
  return (found ?? voices[0])?.id ?? '';
}

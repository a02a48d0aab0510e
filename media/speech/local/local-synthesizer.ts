/** Local voices: Flite for English, downloaded voices, and eSpeak NG for other languages if installed. */
import type { SynthesisOutlook, Synthesizer } from '../speech.ts';

/**
 * Combines synthesisers, which are looked up for each text because a voice may be installed at any time. Uses
 * the first that has the requested voice, or else the first that speaks the language, or else the first.
 */
export function localSynthesizer(enginesNow: () => readonly [Synthesizer, ...Synthesizer[]]): Synthesizer {
  const engineFor = ({ voiceId, language }: SynthesisOutlook) => {
    const engines = enginesNow();
    const byVoice = engines.find(({ voices }) => voices.some(({ id }) => id === voiceId));
    return (
      byVoice ??
      engines.find(({ voices }) => voices.some(({ languages }) => languages.includes(language))) ??
      engines[0]
    );
  };
  return {
    id: 'local',
    get voices() {
      return enginesNow().flatMap(({ voices }) => voices);
    },
    needsWords: true,
    prepare: (outlook) => engineFor(outlook).prepare?.(outlook),
    synthesise: (text, options) => engineFor(options).synthesise(text, options),
    close: async () => {
      await Promise.all(enginesNow().map((engine) => engine.close?.()));
    },
  };
}

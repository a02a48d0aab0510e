/** Local voices: Flite for English, downloaded voices, and eSpeak NG for other languages if installed. */
import type { SynthesisOutlook, Synthesizer } from '../speech.ts';

/**
 * Combines synthesisers: uses the first that has the requested voice, or else the first that speaks the
 * language, or else the first.
 */
export function localSynthesizer(engines: readonly [Synthesizer, ...Synthesizer[]]): Synthesizer {
  const engineFor = ({ voiceId, language }: SynthesisOutlook) => {
    const byVoice = engines.find(({ voices }) => voices.some(({ id }) => id === voiceId));
    return (
      byVoice ??
      engines.find(({ voices }) => voices.some(({ languages }) => languages.includes(language))) ??
      engines[0]
    );
  };
  return {
    id: 'local',
    voices: engines.flatMap(({ voices }) => voices),
    needsWords: true,
    prepare: (outlook) => engineFor(outlook).prepare?.(outlook),
    synthesise: (text, options) => engineFor(options).synthesise(text, options),
    close: async () => {
      await Promise.all(engines.map((engine) => engine.close?.()));
    },
  };
}

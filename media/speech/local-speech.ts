/** The local voice: Flite for English, and eSpeak NG for the other languages where it is installed. */
import type { SynthesisOutlook, Synthesizer } from './speech.ts';

/**
 * One synthesiser of several: the first that has the voice that is asked for, else the first that speaks the
 * language, else the first.
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

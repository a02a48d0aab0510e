/** The callers' voices: Flite's, and one of eSpeak. */
import { detectEspeakVoices } from '#media/speech/local/espeak.ts';

/** The voices of the callers, one for each round in turn: a woman's, a man's, and another program's. */
export function callerVoices(): readonly string[] {
  return detectEspeakVoices().length > 0 ? ['slt', 'rms', 'espeak-en'] : ['slt', 'rms', 'kal16'];
}

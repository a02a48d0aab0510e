/**
 * The callers' voices: Flite's, and eSpeak's, which speaks before the call because it is a program of its
 * own.
 */
import { systemClock } from '#base/clock.ts';
import { CALLER_RATE_HZ, type SceneFile, type Speaker, speakWithFlite } from '#caller/scene.ts';
import { atLevel } from '#caller/sounds.ts';
import { RateConverter } from '#media/dsp/pcm.ts';
import { createEspeak, detectEspeakVoices } from '#media/speech/local/espeak.ts';
import type { SpokenWord } from '#media/speech/speech.ts';

const ESPEAK = 'espeak-en';

/** The voices of the callers, one for each round in turn: a woman's, a man's, and another program's. */
export function callerVoices(): readonly string[] {
  return detectEspeakVoices().length > 0 ? ['slt', 'rms', ESPEAK] : ['slt', 'rms', 'kal16'];
}

/** A speaker for the lines of this scene. */
export async function speakerOf(scene: SceneFile): Promise<Speaker> {
  const lines = scene.steps.flatMap((step) => {
    if (step.do !== 'say' && step.do !== 'interrupt') return [];
    return (step.voice ?? scene.voice) === ESPEAK ? [step.text] : [];
  });
  const spoken = await speakWithEspeak([...new Set(lines)]);
  return (text, voice) => {
    if (voice !== ESPEAK) return speakWithFlite(text, voice);
    const speech = spoken.get(text);
    if (!speech) throw new Error(`eSpeak has not spoken “${text}”`);
    return speech;
  };
}

type Speech = ReturnType<Speaker>;

async function speakWithEspeak(lines: readonly string[]): Promise<ReadonlyMap<string, Speech>> {
  const spoken = new Map<string, Speech>();
  if (lines.length === 0) return spoken;
  const espeak = createEspeak(systemClock);
  for (const line of lines) {
    const converter = new RateConverter(CALLER_RATE_HZ);
    const samples: number[] = [];
    const words: SpokenWord[] = [];
    const options = {
      voiceId: ESPEAK,
      language: 'en',
      speed: 1,
      emotion: null,
      sampleRateHz: CALLER_RATE_HZ,
      signal: new AbortController().signal,
    };
    for await (const chunk of espeak.synthesise(line, options)) {
      samples.push(...converter.convert(chunk.samples, chunk.sampleRateHz));
      words.push(...(chunk.words ?? []));
    }
    spoken.set(line, { samples: atLevel(Float64Array.from(samples), 0), words });
  }
  await espeak.close();
  return spoken;
}

/**
 * A speaker for the lines of a caller: Flite, and eSpeak, which speaks before the call because it is a
 * program of its own.
 */
import { systemClock } from '#base/clock.ts';
import { RateConverter } from '#media/dsp/pcm.ts';
import { createEspeak, detectEspeakVoices } from '#media/speech/local/espeak.ts';
import type { SpokenWord } from '#media/speech/speech.ts';
import { CALLER_RATE_HZ, type SceneFile, type Speaker, speakWithFlite } from './scene.ts';
import { atLevel } from './sounds.ts';

const AWAKE_MS = 1_000;

type Speech = ReturnType<Speaker>;

/** One line to be spoken by eSpeak. */
interface EspeakLine {
  readonly text: string;
  readonly voice: string;
  readonly speed: number;
}

/** The parts of a scene that say which voices speak which lines. */
export type SpokenScene = Pick<SceneFile, 'voice' | 'speed' | 'steps'>;

/** A speaker for the lines of this scene. Throws a plain message if a voice is not on this machine. */
export async function speakerOf(scene: SpokenScene): Promise<Speaker> {
  const lines = scene.steps.flatMap((step): EspeakLine[] => {
    const said =
      step.do === 'listen' ? step.impatient : step.do === 'say' || step.do === 'interrupt' ? step : undefined;
    const voice = (said && 'voice' in said ? said.voice : undefined) ?? scene.voice ?? '';
    return said && voice.startsWith('espeak-') ? [{ text: said.text, voice, speed: scene.speed ?? 1 }] : [];
  });
  const spoken = await speakWithEspeak(lines);
  return (text, voice, speed) =>
    spoken.get(keyOf({ text, voice, speed })) ?? speakWithFlite(text, voice, speed);
}

async function speakWithEspeak(lines: readonly EspeakLine[]): Promise<ReadonlyMap<string, Speech>> {
  const spoken = new Map<string, Speech>();
  if (lines.length === 0) return spoken;
  const known = detectEspeakVoices().map(({ id }) => id);
  const missing = lines.find(({ voice }) => !known.includes(voice));
  if (missing)
    throw new Error(
      known.length === 0
        ? `the voice ${missing.voice} needs eSpeak: run \`npm run espeak\` once`
        : `eSpeak has no voice ${missing.voice}: it has ${known.join(', ')}`,
    );
  const espeak = createEspeak(systemClock);
  // The program keeps no process alive that waits for it alone, as the command line does.
  const awake = setInterval(() => undefined, AWAKE_MS);
  try {
    for (const line of lines)
      if (!spoken.has(keyOf(line))) spoken.set(keyOf(line), await speechOf(espeak, line));
  } finally {
    await espeak.close();
    clearInterval(awake);
  }
  return spoken;
}

async function speechOf(espeak: ReturnType<typeof createEspeak>, line: EspeakLine): Promise<Speech> {
  const converter = new RateConverter(CALLER_RATE_HZ);
  const samples: number[] = [];
  const words: SpokenWord[] = [];
  const options = {
    voiceId: line.voice,
    language: line.voice.slice('espeak-'.length),
    speed: line.speed,
    emotion: null,
    sampleRateHz: CALLER_RATE_HZ,
    signal: new AbortController().signal,
  };
  for await (const chunk of espeak.synthesise(line.text, options)) {
    for (const sample of converter.convert(chunk.samples, chunk.sampleRateHz)) samples.push(sample);
    words.push(...(chunk.words ?? []));
  }
  return { samples: atLevel(Float64Array.from(samples), 0), words };
}

function keyOf({ text, voice, speed }: EspeakLine): string {
  return JSON.stringify([text, voice, speed]);
}

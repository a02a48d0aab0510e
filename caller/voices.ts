/**
 * Speakers for the lines of a caller, of Flite and eSpeak: for known lines before the call, for the others
 * during it.
 */
import { systemClock } from '#base/clock.ts';
import { RateConverter } from '#media/dsp/pcm.ts';
import { createEspeak, detectEspeakVoices } from '#media/speech/local/espeak.ts';
import { type FliteSynthesizer, openFlite } from '#media/speech/local/flite.ts';
import type { SpokenWord, Synthesizer } from '#media/speech/speech.ts';
import { CALLER_RATE_HZ, type SceneFile, type Speaker, type SpokenLine, speakWithFlite } from './scene.ts';
import { atLevel } from './sounds.ts';

const AWAKE_MS = 1_000;

/** One line to be spoken by an engine. */
interface EngineLine {
  readonly text: string;
  readonly voice: string;
  readonly speed: number;
}

/** The parts of a scene that say which voices speak which lines. */
export type SpokenScene = Pick<SceneFile, 'voice' | 'speed' | 'steps'>;

/** A speaker for the lines of this scene. Throws a plain message if a voice is not on this machine. */
export async function speakerOf(scene: SpokenScene): Promise<Speaker> {
  const lines = scene.steps.flatMap((step): EngineLine[] => {
    const said = saidIn(step);
    const voice = said?.voice ?? scene.voice ?? '';
    return said && isEspeak(voice) ? [{ text: said.text, voice, speed: scene.speed ?? 1 }] : [];
  });
  if (isEspeak(scene.voice ?? '') && scene.steps.some((step) => step.do === 'converse'))
    requireEspeak([scene.voice ?? '']);
  const spoken = await speakWithEspeak(lines);
  return (text, voice, speed) =>
    spoken.get(keyOf({ text, voice, speed })) ?? speakWithFlite(text, voice, speed);
}

interface Said {
  readonly text: string;
  /** Absent: the scene's. */
  readonly voice?: string | undefined;
}

function saidIn(step: SceneFile['steps'][number]): Said | undefined {
  switch (step.do) {
    case 'listen':
    case 'converse':
      return step.impatient;
    case 'say':
    case 'interrupt':
      return step;
    default:
      return undefined;
  }
}

/** Speaks lines that become known during a call; no call waits for the processor meanwhile. */
export interface LiveVoices {
  /** Throws for a voice that is not on this machine, and if the engine fails. */
  speak(line: EngineLine): Promise<SpokenLine>;
  close(): Promise<void>;
}

/** Starts each engine when it is first needed: Flite in a thread, eSpeak as a program. */
export function openLiveVoices(): LiveVoices {
  let flite: Promise<FliteSynthesizer> | null = null;
  let espeak: ReturnType<typeof createEspeak> | null = null;
  return {
    async speak(line) {
      if (!isEspeak(line.voice)) {
        flite ??= openFlite();
        return speechOf(await flite, line);
      }
      requireEspeak([line.voice]);
      espeak ??= createEspeak(systemClock);
      return levelled(await speechOf(espeak, line));
    },
    async close() {
      await espeak?.close();
      // One that did not start has failed the calls that needed it.
      await (await flite?.catch(() => null))?.close();
    },
  };
}

async function speakWithEspeak(lines: readonly EngineLine[]): Promise<ReadonlyMap<string, SpokenLine>> {
  const spoken = new Map<string, SpokenLine>();
  if (lines.length === 0) return spoken;
  requireEspeak(lines.map(({ voice }) => voice));
  const espeak = createEspeak(systemClock);
  // The program keeps no process alive that waits for it alone, as the command line does.
  const awake = setInterval(() => undefined, AWAKE_MS);
  try {
    for (const line of lines)
      if (!spoken.has(keyOf(line))) spoken.set(keyOf(line), levelled(await speechOf(espeak, line)));
  } finally {
    await espeak.close();
    clearInterval(awake);
  }
  return spoken;
}

function isEspeak(voice: string): boolean {
  return voice.startsWith('espeak-');
}

/** Throws a plain message if a voice is not on this machine. */
function requireEspeak(voices: readonly string[]): void {
  const known = detectEspeakVoices().map(({ id }) => id);
  const missing = voices.find((voice) => !known.includes(voice));
  if (missing !== undefined)
    throw new Error(
      known.length === 0
        ? `the voice ${missing} needs eSpeak: run \`npm run espeak\` once`
        : `eSpeak has no voice ${missing}: it has ${known.join(', ')}`,
    );
}

/** As loud as Flite. */
function levelled({ samples, words }: SpokenLine): SpokenLine {
  return { samples: atLevel(Float64Array.from(samples), 0), words };
}

async function speechOf(engine: Pick<Synthesizer, 'synthesise'>, line: EngineLine): Promise<SpokenLine> {
  const converter = new RateConverter(CALLER_RATE_HZ);
  const samples: number[] = [];
  const words: SpokenWord[] = [];
  const options = {
    voiceId: line.voice,
    language: isEspeak(line.voice) ? line.voice.slice('espeak-'.length) : 'en',
    speed: line.speed,
    emotion: null,
    sampleRateHz: CALLER_RATE_HZ,
    signal: new AbortController().signal,
  };
  for await (const chunk of engine.synthesise(line.text, options)) {
    for (const sample of converter.convert(chunk.samples, chunk.sampleRateHz)) samples.push(sample);
    words.push(...(chunk.words ?? []));
  }
  return { samples: Int16Array.from(samples), words };
}

function keyOf({ text, voice, speed }: EngineLine): string {
  return JSON.stringify([text, voice, speed]);
}

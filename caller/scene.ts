/**
 * The steps of a caller in a call: a scene file (JSON), and the audio of its lines. With a seed a
 * scene is the same at every run: random ranges and the faint noise of the line are derived from it.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import type { Meaning } from '#protocol/audible-timeline.ts';
import { CALLER_STEPS, type CallerCodec, callerConditions, converseStep } from '#protocol/caller-steps.ts';
import { VOICED_PEAK } from './rtp.ts';
import { type Background, backgroundSound, scaled, shortSound } from './sounds.ts';
import { type Spoken, speak } from './spoken.ts';
import { parseWav } from './wav.ts';

/** Sample rate of a phone caller's audio, Hz. */
export const CALLER_RATE_HZ = 8_000;

/** Plays a WAV file (8 kHz, mono), with a path relative to the scene. */
const play = z.strictObject({ do: z.literal('play'), wav: z.string().min(1) });

const sceneFile = z.strictObject({
  name: z.string().min(1),
  ...callerConditions,
  /** Peak of the line's noise; 0 is digital silence. */
  noise_peak: z
    .number()
    .int()
    .min(0)
    .max(VOICED_PEAK / 2)
    .default(12),
  /** The caller hangs up after the last one. */
  steps: z
    .array(z.discriminatedUnion('do', [...CALLER_STEPS, converseStep, play]))
    .min(1)
    .max(500),
});

/** A scene as in its file. */
export type SceneFile = z.input<typeof sceneFile>;

/** How a caller listens. */
interface Listening {
  readonly quietMs: number;
  readonly timeoutMs: number;
  /** A line that the caller says, `times` times at most, when the agent has not begun for `afterMs`. */
  readonly impatient: { readonly line: Line; readonly afterMs: number; readonly times: number } | null;
}

/** One step, with all random values drawn. */
export type Action =
  | ({ readonly do: 'listen' } & Listening)
  | ({ readonly do: 'converse'; readonly goal: string; readonly maxLines: number } & Listening)
  | { readonly do: 'pause'; readonly ms: number }
  | {
      readonly do: 'say';
      readonly line: Line;
      readonly over: { readonly afterMs: number; readonly timeoutMs: number } | null;
    }
  | { readonly do: 'press'; readonly digits: string }
  | { readonly do: 'await_hang_up'; readonly timeoutMs: number };

/** A line of the caller. `samples` begin and end with voice. */
export interface Line {
  readonly text: string;
  readonly means: Meaning;
  readonly samples: Int16Array;
  /** End of each word, ms from the first sample. */
  readonly words: readonly { readonly text: string; readonly endMs: number }[];
}

/** Sounds of the line beside the caller's voice. */
export interface LineConditions {
  readonly background: Background | null;
  readonly echo: { readonly delayMs: number; readonly lossDb: number } | null;
  /** Share of packets lost. */
  readonly lossShare: number;
  /** Largest delay of a packet. */
  readonly jitterMs: number;
  readonly codec: CallerCodec;
}

/** A scene ready to play. */
export interface Scene {
  readonly name: string;
  readonly actions: readonly Action[];
  readonly noisePeak: number;
  readonly conditions: LineConditions;
  /** Numbers in [0, 1), the same sequence for the same seed. */
  readonly random: () => number;
}

/** Reads a scene file and synthesises its lines. Throws a plain message if it is malformed. */
export function readScene(path: string): Scene {
  return prepareScene(JSON.parse(readFileSync(path, 'utf8')), dirname(path));
}

/** A spoken line at the caller's rate. */
export type SpokenLine = Pick<Spoken, 'samples' | 'words'>;

/** Speaks a line at the caller's rate in a voice; `speed` 1 is the voice's own. */
export type Speaker = (text: string, voice: string, speed: number) => SpokenLine;

/** Speaks in Flite's voices; throws for one of eSpeak. */
export const speakWithFlite: Speaker = (said, speaker, speed) => {
  if (speaker.startsWith('espeak-')) throw new Error('a scene with a voice of eSpeak needs a speaker for it');
  return speak(said, { rateHz: CALLER_RATE_HZ, voice: speaker, speed });
};

/** Prepares a scene; `folder` is the base of its WAV files. Throws if it is malformed. */
export function prepareScene(file: unknown, folder = '.', speaker = speakWithFlite): Scene {
  const parsed = sceneFile.safeParse(file);
  if (!parsed.success) throw new Error(`malformed scene: ${z.prettifyError(parsed.error)}`);
  const scene = parsed.data;
  const random = seededRandom(scene.seed);
  const drawn = (value: number | readonly [number, number]) =>
    typeof value === 'number' ? value : value[0] + random() * (value[1] - value[0]);
  const spoken = (
    line: { readonly text: string; readonly voice?: string | undefined },
    means: Meaning,
  ): Line =>
    spokenLine(line.text, means, {
      voice: line.voice ?? scene.voice,
      speed: scene.speed,
      gainDb: scene.voice_db,
      speaker,
    });
  const listening = (item: ListeningStep): Listening => ({
    quietMs: item.quiet_ms,
    timeoutMs: item.timeout_ms,
    impatient: item.impatient
      ? {
          line: spoken(item.impatient, 'turn'),
          afterMs: item.impatient.after_ms,
          times: item.impatient.times,
        }
      : null,
  });
  const actions = scene.steps.map((item): Action => {
    switch (item.do) {
      case 'listen':
        return { do: 'listen', ...listening(item) };
      case 'converse':
        return { do: 'converse', goal: item.goal, maxLines: item.max_lines, ...listening(item) };
      case 'pause':
        return { do: 'pause', ms: drawn(item.ms) };
      case 'say':
        return { do: 'say', line: spoken(item, item.is_unfinished ? 'part' : 'turn'), over: null };
      case 'interrupt': {
        const line = spoken(item, item.is_backchannel ? 'backchannel' : 'interruption');
        return { do: 'say', line, over: { afterMs: drawn(item.after_ms), timeoutMs: item.timeout_ms } };
      }
      case 'sound': {
        const line: Line = {
          text: item.sound,
          means: 'sound',
          samples: shortSound(item.sound, CALLER_RATE_HZ, random),
          words: [],
        };
        return { do: 'say', line, over: { afterMs: drawn(item.after_ms), timeoutMs: item.timeout_ms } };
      }
      case 'play': {
        const { samples } = trimmed(recorded(resolve(folder, item.wav)));
        return { do: 'say', line: { text: item.wav, means: 'turn', samples, words: [] }, over: null };
      }
      case 'press':
        return { do: 'press', digits: item.digits };
      case 'await_hang_up':
        return { do: 'await_hang_up', timeoutMs: item.timeout_ms };
      default:
        return item satisfies never;
    }
  });
  return {
    name: scene.name,
    actions,
    noisePeak: scene.noise_peak,
    conditions: conditionsOf(scene, random),
    random,
  };
}

type ListeningStep = Extract<z.output<typeof sceneFile>['steps'][number], { do: 'listen' | 'converse' }>;

function conditionsOf(
  { background, echo, network, codec }: z.output<typeof sceneFile>,
  random: () => number,
): LineConditions {
  return {
    background: background
      ? backgroundSound(background.sound, background.level_db, { rateHz: CALLER_RATE_HZ, random })
      : null,
    echo: echo ? { delayMs: echo.delay_ms, lossDb: echo.loss_db } : null,
    lossShare: network?.loss ?? 0,
    jitterMs: network?.jitter_ms ?? 0,
    codec: codec ?? 'pcmu',
  };
}

type Speech = Pick<Line, 'samples' | 'words'>;

/** Cache of lines in the same voice and loudness: all calls of a load test say the same. */
const speeches = new Map<string, Speech>();

interface Manner {
  readonly voice: string;
  readonly speed: number;
  readonly gainDb: number;
  readonly speaker: Speaker;
}

function spokenLine(said: string, means: Meaning, how: Manner): Line {
  const name = JSON.stringify([said, how.voice, how.speed, how.gainDb]);
  const speech = speeches.get(name) ?? speechOf(said, how);
  speeches.set(name, speech);
  return { text: said, means, ...speech };
}

function speechOf(said: string, how: Manner): Speech {
  return trimmedSpeech(said, how.speaker(said, how.voice, how.speed), how.gainDb);
}

/** A line that was spoken during the call; null if it has no audible sound. */
export function lineOf(text: string, means: Meaning, spoken: SpokenLine, gainDb: number): Line | null {
  const isAudible = spoken.samples.some((sample) => Math.abs(sample) >= VOICED_PEAK);
  return isAudible ? { text, means, ...trimmedSpeech(text, spoken, gainDb) } : null;
}

function trimmedSpeech(said: string, spoken: SpokenLine, gainDb: number): Speech {
  const { samples, skippedMs } = trimmed(spoken.samples);
  // Includes the decay of the last word: the line is over at its end.
  const lengthMs = (samples.length * 1_000) / CALLER_RATE_HZ;
  const words = spoken.words.map(({ textStart, textEnd, endMs }) => ({
    text: said.slice(textStart, textEnd),
    endMs: Math.min(endMs - skippedMs, lengthMs),
  }));
  return { samples: scaled(samples, gainDb), words };
}

/** Without surrounding silence, so that the line ends with the voice. */
function trimmed(samples: Int16Array): { readonly samples: Int16Array; readonly skippedMs: number } {
  const isAudible = (sample: number) => Math.abs(sample) >= VOICED_PEAK;
  const first = Math.max(0, samples.findIndex(isAudible));
  return {
    samples: samples.slice(first, samples.findLastIndex(isAudible) + 1),
    skippedMs: (first * 1_000) / CALLER_RATE_HZ,
  };
}

function recorded(path: string): Int16Array {
  const wav = parseWav(readFileSync(path));
  if (wav.rateHz !== CALLER_RATE_HZ || wav.channels !== 1)
    throw new Error(`${path}: must be ${CALLER_RATE_HZ} Hz mono`);
  return wav.samples;
}

/** A small random generator (mulberry32), because the platform's own cannot be seeded. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/**
 * The steps of a caller in a call: a scene file (JSON), and the audio of its lines. With a seed a
 * scene is the same at every run: random ranges and the faint noise of the line are derived from it.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { VOICED_PEAK } from './rtp.ts';
import { type Background, backgroundSound, scaled, shortSound } from './sounds.ts';
import { type Spoken, speak } from './spoken.ts';
import { parseWav } from './wav.ts';

/** Sample rate of a phone caller's audio, Hz. */
export const CALLER_RATE_HZ = 8_000;

const range = z.union([
  z.number().nonnegative(),
  z.tuple([z.number().nonnegative(), z.number().nonnegative()]),
]);
const text = z.string().min(1).max(500);
/** A voice of Flite, or one of eSpeak for which `prepareScene` gets a speaker. */
const voice = z.string().regex(/^(?:slt|rms|awb|kal|kal16|espeak-[a-z]{2})$/);

const step = z.discriminatedUnion('do', [
  /**
   * Waits until the agent has spoken and then been silent for `quiet_ms`; continues after `timeout_ms` in any
   * case.
   */
  z.strictObject({
    do: z.literal('listen'),
    quiet_ms: z.number().positive().default(800),
    timeout_ms: z.number().positive().default(15_000),
  }),
  /** Stays silent; a pair is a random range. */
  z.strictObject({ do: z.literal('pause'), ms: range }),
  /** Says a line, spoken by Flite. `is_unfinished`: the caller intends to continue with the next one. */
  z.strictObject({
    do: z.literal('say'),
    text,
    voice: voice.optional(),
    is_unfinished: z.boolean().default(false),
  }),
  /** Plays a WAV file (8 kHz, mono), with a path relative to the scene. */
  z.strictObject({ do: z.literal('play'), wav: z.string().min(1) }),
  /**
   * Waits until the agent has been speaking for `after_ms`, then says the line over it; `is_backchannel`:
   * without wanting the turn.
   */
  z.strictObject({
    do: z.literal('interrupt'),
    text,
    is_backchannel: z.boolean().default(false),
    after_ms: range.default(700),
    voice: voice.optional(),
    timeout_ms: z.number().positive().default(15_000),
  }),
  /** Makes a meaningless sound while the agent has been speaking for `after_ms`. */
  z.strictObject({
    do: z.literal('sound'),
    sound: z.enum(['cough', 'door']),
    after_ms: range.default(700),
    timeout_ms: z.number().positive().default(15_000),
  }),
  /** Presses keys (RFC 4733). */
  z.strictObject({ do: z.literal('press'), digits: z.string().regex(/^[0-9*#A-D]{1,64}$/) }),
  /** Waits for the agent to hang up. */
  z.strictObject({ do: z.literal('await_hang_up'), timeout_ms: z.number().positive().default(15_000) }),
]);

const sceneFile = z.strictObject({
  name: z.string().min(1),
  seed: z.number().int().nonnegative().default(1),
  voice: voice.default('slt'),
  /** Peak of the line's noise; 0 is digital silence. */
  noise_peak: z
    .number()
    .int()
    .min(0)
    .max(VOICED_PEAK / 2)
    .default(12),
  /** Loudness of the caller relative to Flite's own voice. */
  voice_db: z.number().min(-40).max(12).default(0),
  /** Constant background behind the caller; 0 dB is as loud as Flite's voice. */
  background: z
    .strictObject({ sound: z.enum(['noise', 'television']), level_db: z.number().min(-60).max(0) })
    .optional(),
  /** The caller's telephone echoes the agent. */
  echo: z
    .strictObject({ delay_ms: z.number().min(0).max(600), loss_db: z.number().min(0).max(60) })
    .optional(),
  /** Impairment of the caller's packets (phones only). */
  network: z
    .strictObject({
      loss: z.number().min(0).max(0.5).default(0),
      jitter_ms: z.number().min(0).max(200).default(0),
    })
    .optional(),
  /** The caller hangs up after the last one. */
  steps: z.array(step).min(1).max(500),
});

/** A scene as in its file. */
export type SceneFile = z.input<typeof sceneFile>;

/** One step, with all random values drawn. */
export type Action =
  | { readonly do: 'listen'; readonly quietMs: number; readonly timeoutMs: number }
  | { readonly do: 'pause'; readonly ms: number }
  | {
      readonly do: 'say';
      readonly line: Line;
      readonly over: { readonly afterMs: number; readonly timeoutMs: number } | null;
    }
  | { readonly do: 'press'; readonly digits: string }
  | { readonly do: 'await_hang_up'; readonly timeoutMs: number };

/**
 * Intention of a line: to be answered, to be continued, to take the turn, a backchannel, or none, because it
 * is only a sound.
 */
export type Meaning = 'turn' | 'part' | 'interruption' | 'backchannel' | 'sound';

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

/** Speaks a line at the caller's rate in a voice. */
export type Speaker = (text: string, voice: string) => Pick<Spoken, 'samples' | 'words'>;

/** Speaks in Flite's voices; throws for one of eSpeak. */
export const speakWithFlite: Speaker = (said, speaker) => {
  if (speaker.startsWith('espeak-')) throw new Error('a scene with a voice of eSpeak needs a speaker for it');
  return speak(said, { rateHz: CALLER_RATE_HZ, voice: speaker });
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
    spokenLine(line.text, means, { voice: line.voice ?? scene.voice, gainDb: scene.voice_db, speaker });
  const actions = scene.steps.map((item): Action => {
    switch (item.do) {
      case 'listen':
        return { do: 'listen', quietMs: item.quiet_ms, timeoutMs: item.timeout_ms };
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

function conditionsOf(
  { background, echo, network }: z.output<typeof sceneFile>,
  random: () => number,
): LineConditions {
  return {
    background: background
      ? backgroundSound(background.sound, background.level_db, { rateHz: CALLER_RATE_HZ, random })
      : null,
    echo: echo ? { delayMs: echo.delay_ms, lossDb: echo.loss_db } : null,
    lossShare: network?.loss ?? 0,
    jitterMs: network?.jitter_ms ?? 0,
  };
}

type Speech = Pick<Line, 'samples' | 'words'>;

/** Cache of lines in the same voice and loudness: all calls of a load test say the same. */
const speeches = new Map<string, Speech>();

function spokenLine(
  said: string,
  means: Meaning,
  how: { readonly voice: string; readonly gainDb: number; readonly speaker: Speaker },
): Line {
  const name = JSON.stringify([said, how.voice, how.gainDb]);
  const speech = speeches.get(name) ?? speechOf(said, how);
  speeches.set(name, speech);
  return { text: said, means, ...speech };
}

function speechOf(
  said: string,
  how: { readonly voice: string; readonly gainDb: number; readonly speaker: Speaker },
): Speech {
  const spoken = how.speaker(said, how.voice);
  const { samples, skippedMs } = trimmed(spoken.samples);
  // Includes the decay of the last word: the line is over at its end.
  const lengthMs = (samples.length * 1_000) / CALLER_RATE_HZ;
  const words = spoken.words.map(({ textStart, textEnd, endMs }) => ({
    text: said.slice(textStart, textEnd),
    endMs: Math.min(endMs - skippedMs, lengthMs),
  }));
  return { samples: scaled(samples, how.gainDb), words };
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

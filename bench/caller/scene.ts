/**
 * What a caller does in a call, step by step: a scene file (JSON), and the sound of its lines.
 * A scene with a seed is the same at every run: ranges are drawn from it, and so is the faint noise of the line.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { speak } from '#test/fakes/spoken.ts';
import { VOICED_PEAK } from './rtp.ts';
import { readWav } from './wav.ts';

/** Rate of everything a phone caller says, Hz. */
export const CALLER_RATE_HZ = 8_000;

const range = z.union([z.number().nonnegative(), z.tuple([z.number().nonnegative(), z.number().nonnegative()])]);
const text = z.string().min(1).max(500);
const voice = z.enum(['slt', 'rms', 'awb', 'kal', 'kal16']);

const step = z.discriminatedUnion('do', [
  /** Waits until the agent has spoken and then been quiet for `quiet_ms`; goes on anyway after `timeout_ms`. */
  z.strictObject({ do: z.literal('listen'), quiet_ms: z.number().positive().default(800), timeout_ms: z.number().positive().default(15_000) }),
  /** Stays silent; a pair is a range drawn from the seed. */
  z.strictObject({ do: z.literal('pause'), ms: range }),
  /** Says a line, spoken by Flite. */
  z.strictObject({ do: z.literal('say'), text, voice: voice.optional() }),
  /** Plays a WAV file (8 kHz, mono), its path relative to the scene. */
  z.strictObject({ do: z.literal('play'), wav: z.string().min(1) }),
  /** Waits until the agent has been speaking for `after_ms`, then says the line over it. */
  z.strictObject({
    do: z.literal('interrupt'),
    text,
    after_ms: range.default(700),
    voice: voice.optional(),
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
  /** Loudest sample of the line's noise; 0 is digital silence. */
  noise_peak: z
    .number()
    .int()
    .min(0)
    .max(VOICED_PEAK / 2)
    .default(12),
  /** The caller hangs up after the last one. */
  steps: z.array(step).min(1).max(500),
});

/** A scene as it stands in a file. */
export type SceneFile = z.input<typeof sceneFile>;

/** One thing the caller does, with everything random already drawn. */
export type Action =
  | { readonly do: 'listen'; readonly quietMs: number; readonly timeoutMs: number }
  | { readonly do: 'pause'; readonly ms: number }
  | { readonly do: 'say'; readonly line: Line; readonly over: { readonly afterMs: number; readonly timeoutMs: number } | null }
  | { readonly do: 'press'; readonly digits: string }
  | { readonly do: 'await_hang_up'; readonly timeoutMs: number };

/** Something the caller says. `samples` begin and end with voice. */
export interface Line {
  readonly text: string;
  readonly samples: Int16Array;
}

/** A scene ready to be played. */
export interface Scene {
  readonly name: string;
  readonly actions: readonly Action[];
  readonly noisePeak: number;
  /** Numbers from 0 up to 1, the same sequence for the same seed. */
  readonly random: () => number;
}

/** Reads a scene file and speaks its lines. Throws a plain message for a malformed one. */
export function readScene(path: string): Scene {
  return prepareScene(JSON.parse(readFileSync(path, 'utf8')), dirname(path));
}

/** Makes a scene ready; `folder` is where its WAV files stand. Throws for a malformed one. */
export function prepareScene(file: unknown, folder = '.'): Scene {
  const parsed = sceneFile.safeParse(file);
  if (!parsed.success) throw new Error(`malformed scene: ${z.prettifyError(parsed.error)}`);
  const scene = parsed.data;
  const random = seededRandom(scene.seed);
  const drawn = (value: number | readonly [number, number]) => (typeof value === 'number' ? value : value[0] + random() * (value[1] - value[0]));
  const spoken = (line: { readonly text: string; readonly voice?: string | undefined }): Line => ({
    text: line.text,
    samples: trimmed(speak(line.text, { rateHz: CALLER_RATE_HZ, voice: line.voice ?? scene.voice }).samples),
  });
  const actions = scene.steps.map((item): Action => {
    switch (item.do) {
      case 'listen':
        return { do: 'listen', quietMs: item.quiet_ms, timeoutMs: item.timeout_ms };
      case 'pause':
        return { do: 'pause', ms: drawn(item.ms) };
      case 'say':
        return { do: 'say', line: spoken(item), over: null };
      case 'interrupt':
        return { do: 'say', line: spoken(item), over: { afterMs: drawn(item.after_ms), timeoutMs: item.timeout_ms } };
      case 'play':
        return { do: 'say', line: { text: item.wav, samples: trimmed(recorded(resolve(folder, item.wav))) }, over: null };
      case 'press':
        return { do: 'press', digits: item.digits };
      case 'await_hang_up':
        return { do: 'await_hang_up', timeoutMs: item.timeout_ms };
      default:
        return item satisfies never;
    }
  });
  return { name: scene.name, actions, noisePeak: scene.noise_peak, random };
}

/** Without what is inaudible around it, so that the end of the line is the end of the voice. */
function trimmed(samples: Int16Array): Int16Array {
  const isAudible = (sample: number) => Math.abs(sample) >= VOICED_PEAK;
  return samples.slice(Math.max(0, samples.findIndex(isAudible)), samples.findLastIndex(isAudible) + 1);
}

function recorded(path: string): Int16Array {
  const wav = readWav(readFileSync(path));
  if (wav.rateHz !== CALLER_RATE_HZ || wav.channels !== 1) throw new Error(`${path}: must be ${CALLER_RATE_HZ} Hz mono`);
  return wav.samples;
}

/** A small well-mixed generator (mulberry32), as the platform's own cannot be seeded. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/**
 * Sounds without words: noise, a television, a cough, a door. Generated from a seed, so that a scene sounds
 * the same at every run.
 */
import { speak } from './spoken.ts';

/** Background behind the caller: samples played in a loop. */
export interface Background {
  readonly samples: Int16Array;
}

/** RMS of Flite's voice, the reference of levels. */
const VOICE_RMS = 2_600;
const NOISE_S = 5;
const TELEVISION = [
  'And now the weather for tomorrow, with heavy rain in the north.',
  'The minister said that talks will continue through the weekend.',
  'In sports, the home team won by three goals to one.',
] as const;

interface SoundOptions {
  readonly rateHz: number;
  readonly random: () => number;
}

/** A continuous sound at `levelDb` relative to the caller's voice. */
export function backgroundSound(
  sound: 'noise' | 'television',
  levelDb: number,
  options: SoundOptions,
): Background {
  const samples =
    sound === 'noise' ? pinkNoise(NOISE_S * options.rateHz, options.random) : television(options.rateHz);
  return { samples: atLevel(samples, levelDb) };
}

/** A cough (two bursts of breath) or a door (a decaying thump). */
export function shortSound(sound: 'cough' | 'door', rateHz: number, random: () => number): Int16Array {
  const seconds = sound === 'cough' ? 0.55 : 0.35;
  const samples = new Float64Array(Math.round(seconds * rateHz));
  const noise = pinkNoise(samples.length, random);
  for (let index = 0; index < samples.length; index++) {
    const at = index / rateHz;
    if (sound === 'cough')
      samples[index] = (noise[index] ?? 0) * (burst(at, 0.09) + 0.7 * burst(at - 0.26, 0.12));
    else samples[index] = (Math.sin(2 * Math.PI * 90 * at) + 0.4 * (noise[index] ?? 0)) * burst(at, 0.07);
  }
  return atLevel(samples, 3);
}

/** The same sound at another level. */
export function scaled(samples: Int16Array, gainDb: number): Int16Array {
  return gainDb === 0 ? samples : samples.map((sample) => clipped(sample * 10 ** (gainDb / 20)));
}

/** Attacks at once and decays. */
function burst(at: number, decayS: number): number {
  return at < 0 ? 0 : Math.exp(-at / decayS);
}

function television(rateHz: number): Float64Array {
  return Float64Array.from(
    TELEVISION.flatMap((text) => [...speak(text, { rateHz, voice: 'awb', afterMs: 300 }).samples]),
  );
}

/** Noise that falls by 3 dB per octave, by three leaky integrators (Kellet's economy filter). */
function pinkNoise(length: number, random: () => number): Float64Array {
  const samples = new Float64Array(length);
  let [slow, middle, fast] = [0, 0, 0];
  for (let index = 0; index < length; index++) {
    const white = random() * 2 - 1;
    slow = 0.99765 * slow + 0.099046 * white;
    middle = 0.963 * middle + 0.2965164 * white;
    fast = 0.57 * fast + 1.0526913 * white;
    samples[index] = slow + middle + fast + 0.1848 * white;
  }
  return samples;
}

/** The samples at `levelDb` relative to the caller's voice. */
export function atLevel(samples: Float64Array, levelDb: number): Int16Array {
  const rms = Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
  const gain = (VOICE_RMS * 10 ** (levelDb / 20)) / rms;
  return Int16Array.from(samples, (sample) => clipped(sample * gain));
}

function clipped(sample: number): number {
  return Math.round(Math.max(-32_768, Math.min(32_767, sample)));
}

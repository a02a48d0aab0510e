/** Measures how much voice some audio contains. */
import { VOICED_PEAK } from './rtp.ts';

/** Seconds of audio with voice in it, counted in frames of 20 ms. */
export function voicedSeconds(samples: Int16Array, rateHz: number): number {
  const frame = rateHz / 50;
  let voiced = 0;
  for (let at = 0; at < samples.length; at += frame)
    if (samples.subarray(at, at + frame).some((sample) => Math.abs(sample) >= VOICED_PEAK)) voiced++;
  return voiced / 50;
}

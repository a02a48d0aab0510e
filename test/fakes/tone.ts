/** Generates tones for media tests and detects them in received audio, at the rate of G.711. */

const RATE_HZ = 8_000;

/** A sine of one frequency, loud but not clipped. */
export function tone(hz: number, ms: number): Int16Array {
  return Int16Array.from(
    { length: (ms * RATE_HZ) / 1_000 },
    (_, n) => 8_000 * Math.sin((2 * Math.PI * hz * n) / RATE_HZ),
  );
}

/** Power of one frequency in samples, per sample (Goertzel). */
export function power(samples: Int16Array, hz: number): number {
  const turn = 2 * Math.cos((2 * Math.PI * hz) / RATE_HZ);
  let [last, before] = [0, 0];
  for (const sample of samples) [last, before] = [sample + turn * last - before, last];
  return (last * last + before * before - turn * last * before) / Math.max(1, samples.length) ** 2;
}

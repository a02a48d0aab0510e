/**
 * G.711 for the caller, written independently of the product's tables, so that a fault in those becomes
 * visible.
 */

const BIAS = 0x84;
const CLIP = 32_635;
/** µ-law for silence. */
export const ULAW_SILENCE = 0xff;

/** One sample as a µ-law byte (ITU-T G.711). */
export function encodeUlaw(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(CLIP, Math.abs(sample)) + BIAS;
  const exponent = Math.max(0, 24 - Math.clz32(magnitude));
  const mantissa = (magnitude >> (exponent + 3)) & 0x0f;
  return ~(sign | (exponent << 4) | mantissa) & 0xff;
}

/** One µ-law byte as a 16-bit sample. */
export function decodeUlaw(byte: number): number {
  const bits = ~byte & 0xff;
  const exponent = (bits >> 4) & 0x07;
  const magnitude = (((bits & 0x0f) << 3) + BIAS) << exponent;
  return bits & 0x80 ? BIAS - magnitude : magnitude - BIAS;
}

/** A block of samples as µ-law. */
export function encodeBlock(samples: Int16Array): Buffer {
  const bytes = Buffer.allocUnsafe(samples.length);
  for (let index = 0; index < samples.length; index++) bytes[index] = encodeUlaw(samples[index] as number);
  return bytes;
}

/** One sample as an A-law byte (ITU-T G.711). */
export function encodeAlaw(sample: number): number {
  const isPositive = sample >= 0;
  const magnitude = Math.min(32_767, isPositive ? sample : ~sample) >> 3;
  const segment = Math.max(0, 27 - Math.clz32(magnitude));
  const code = segment === 0 ? magnitude >> 1 : (segment << 4) | ((magnitude >> segment) & 0x0f);
  return (code | (isPositive ? 0x80 : 0)) ^ 0x55;
}

/** One A-law byte as a 16-bit sample. */
export function decodeAlaw(byte: number): number {
  const bits = byte ^ 0x55;
  const segment = (bits >> 4) & 0x07;
  const step = bits & 0x0f;
  const magnitude =
    segment === 0 ? (2 * step + 1) << 3 : (((16 + step) << segment) + (1 << (segment - 1))) << 3;
  return bits & 0x80 ? magnitude : -magnitude;
}

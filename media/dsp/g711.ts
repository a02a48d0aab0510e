/**
 * G.711 (ITU-T G.711): µ-law and A-law by table lookup, one byte per sample, written into arrays of the
 * caller.
 */

/** The two laws. */
type G711Law = 'PCMU' | 'PCMA';

interface Law {
  readonly toLinear: Int16Array;
  /** Indexed by the low 16 bits of the sample. */
  readonly fromLinear: Uint8Array;
}

const LAWS: Record<G711Law, Law> = {
  PCMU: law(muLawToLinear, 0xff),
  PCMA: law(aLawToLinear, 0x55 ^ 0x80),
};

/** Decodes `bytes` into `samples` (at least as long); returns the number of samples. */
export function decodeG711(codec: G711Law, bytes: Uint8Array, samples: Int16Array): number {
  const { toLinear } = LAWS[codec];
  for (let n = 0; n < bytes.length; n++) samples[n] = toLinear[bytes[n] as number] as number;
  return bytes.length;
}

/** Encodes `samples` into `bytes` from `offset`; returns the offset after the last byte. */
export function encodeG711(codec: G711Law, samples: Int16Array, bytes: Uint8Array, offset: number): number {
  const { fromLinear } = LAWS[codec];
  for (let n = 0; n < samples.length; n++)
    bytes[offset + n] = fromLinear[(samples[n] as number) & 0xffff] as number;
  return offset + samples.length;
}

function law(decode: (byte: number) => number, silence: number): Law {
  const toLinear = Int16Array.from({ length: 256 }, (_, byte) => decode(byte));
  // Codes in ascending order of value. Each linear sample gets the nearest, which is equivalent to the
  // decision levels of the standard.
  const ordered = Array.from({ length: 256 }, (_, byte) => byte).sort(
    (a, b) => (toLinear[a] as number) - (toLinear[b] as number),
  );
  const fromLinear = new Uint8Array(65536);
  let index = 0;
  for (let value = -32768; value <= 32767; value++) {
    while (
      index < 255 &&
      distance(toLinear, ordered[index + 1], value) <= distance(toLinear, ordered[index], value)
    )
      index++;
    fromLinear[value & 0xffff] = ordered[index] as number;
  }
  fromLinear[0] = silence;
  return { toLinear, fromLinear };
}

function distance(toLinear: Int16Array, byte: number | undefined, value: number): number {
  return Math.abs((toLinear[byte as number] as number) - value);
}

function muLawToLinear(byte: number): number {
  const bits = ~byte & 0xff;
  const magnitude = ((((bits & 0x0f) << 3) + 132) << ((bits >> 4) & 7)) - 132;
  return bits & 0x80 ? -magnitude : magnitude;
}

function aLawToLinear(byte: number): number {
  const bits = byte ^ 0x55;
  const segment = (bits >> 4) & 7;
  const mantissa = ((bits & 0x0f) << 4) + 8;
  const magnitude = segment === 0 ? mantissa : (mantissa + 0x100) << (segment - 1);
  return bits & 0x80 ? magnitude : -magnitude;
}

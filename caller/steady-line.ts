/**
 * A line with only a voice and faint noise, in µ-law packets: encoded once for all calls that say the same,
 * so that two hundred callers do not use up the CPU of the product they measure.
 */
import { encodeBlock } from './g711.ts';
import { PACKET_SAMPLES } from './rtp.ts';
import { seededRandom } from './scene.ts';

const NOISE_PACKETS = 64;

/** By peak of the noise. */
const noises = new Map<number, Buffer>();
const voices = new Map<number, WeakMap<Int16Array, Buffer>>();

/** One call's line. What it returns is shared and must not be changed. */
export class SteadyLine {
  readonly #noise: Buffer;
  readonly #voices: WeakMap<Int16Array, Buffer>;
  readonly #noisePeak: number;
  #next: number;

  /** `begin`, in [0, 1), is where in the noise this call starts. */
  constructor(noisePeak: number, begin: number) {
    this.#noisePeak = noisePeak;
    this.#noise = noises.get(noisePeak) ?? encoded(new Int16Array(NOISE_PACKETS * PACKET_SAMPLES), noisePeak);
    this.#voices = voices.get(noisePeak) ?? new WeakMap();
    noises.set(noisePeak, this.#noise);
    voices.set(noisePeak, this.#voices);
    this.#next = Math.floor(begin * NOISE_PACKETS);
  }

  /** The next packet without speech. */
  quiet(): Buffer {
    return packetAt(this.#noise, (this.#next++ % NOISE_PACKETS) * PACKET_SAMPLES);
  }

  /** The packet of these words that begins at a sample. */
  voice(samples: Int16Array, position: number): Buffer {
    const whole = this.#voices.get(samples) ?? encoded(samples, this.#noisePeak);
    this.#voices.set(samples, whole);
    return packetAt(whole, position);
  }
}

function packetAt(sound: Buffer, position: number): Buffer {
  return sound.subarray(position, position + PACKET_SAMPLES);
}

/** A sound with noise, in whole packets. */
function encoded(samples: Int16Array, noisePeak: number): Buffer {
  const whole = new Int16Array(Math.ceil(samples.length / PACKET_SAMPLES) * PACKET_SAMPLES);
  whole.set(samples);
  const random = seededRandom(samples.length);
  for (const [index, sample] of whole.entries())
    whole[index] = Math.max(-32_768, Math.min(32_767, Math.round(sample + (random() * 2 - 1) * noisePeak)));
  return encodeBlock(whole);
}

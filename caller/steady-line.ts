/**
 * A line that carries nothing but a voice and faint noise, in µ-law packets: encoded once, for all calls that
 * say the same. Two hundred callers beside the product they measure must not take what they measure.
 */
import { encodeBlock } from './g711.ts';
import { PACKET_SAMPLES } from './rtp.ts';
import { seededRandom } from './scene.ts';

const NOISE_PACKETS = 64;

/** By loudest sample of the noise. */
const noises = new Map<number, Buffer>();
const voices = new Map<number, WeakMap<Int16Array, Buffer>>();

/** One call's line. What it returns is shared: nobody may change it. */
export class SteadyLine {
  readonly #noise: Buffer;
  readonly #voices: WeakMap<Int16Array, Buffer>;
  readonly #noisePeak: number;
  #next: number;

  /** `begin`, from 0 up to 1, is the place in the noise where this call's begins. */
  constructor(noisePeak: number, begin: number) {
    this.#noisePeak = noisePeak;
    this.#noise = noises.get(noisePeak) ?? encoded(new Int16Array(NOISE_PACKETS * PACKET_SAMPLES), noisePeak);
    this.#voices = voices.get(noisePeak) ?? new WeakMap();
    noises.set(noisePeak, this.#noise);
    voices.set(noisePeak, this.#voices);
    this.#next = Math.floor(begin * NOISE_PACKETS);
  }

  /** The next packet in which nothing is said. */
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

/** Whole packets of a sound with noise in it. */
function encoded(samples: Int16Array, noisePeak: number): Buffer {
  const whole = new Int16Array(Math.ceil(samples.length / PACKET_SAMPLES) * PACKET_SAMPLES);
  whole.set(samples);
  const random = seededRandom(samples.length);
  for (const [index, sample] of whole.entries())
    whole[index] = Math.max(-32_768, Math.min(32_767, Math.round(sample + (random() * 2 - 1) * noisePeak)));
  return encodeBlock(whole);
}

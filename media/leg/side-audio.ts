/**
 * What goes out on a leg beside the agent's replies: the voices of other legs, mixed, or music while its far
 * end is on hold.
 */

import { Resampler } from '../dsp/pcm.ts';
import { FrameFifo } from './frame-fifo.ts';
import { holdMusic } from './hold-music.ts';
import { frameSamples } from './media-messages.ts';

/** One other leg's audio on its way into this one. */
interface Voice {
  readonly rateHz: number;
  readonly fifo: FrameFifo;
  /** Null where both legs have the same rate. */
  readonly converter: { readonly resampler: Resampler; readonly block: Int16Array } | null;
}

/** The side audio of one leg; silent until told otherwise. */
export class SideAudio {
  readonly #rateHz: number;
  readonly #frame: Int16Array;
  readonly #voices = new Map<string, Voice>();
  #music: Int16Array | null = null;
  #musicSample = 0;

  /** `frame` is the number of samples in one slot. */
  constructor(rateHz: number, frame: number) {
    this.#rateHz = rateHz;
    this.#frame = new Int16Array(frame);
  }

  /**
   * One frame of another leg, at that leg's rate; `stockFrames` are waited for of what comes by a longer way.
   */
  push(source: string, rateHz: number, frame: Int16Array, stockFrames?: number): void {
    const known = this.#voices.get(source);
    const voice = known?.rateHz === rateHz ? known : this.#open(source, rateHz, stockFrames);
    const { converter, fifo } = voice;
    fifo.push(
      converter ? converter.block.subarray(0, converter.resampler.push(frame, converter.block)) : frame,
    );
  }

  /** Nothing more comes from this source. */
  drop(source: string): void {
    this.#voices.delete(source);
  }

  /** Begins the music at its beginning, or ends it. */
  playMusic(isOn: boolean): void {
    this.#music = isOn ? holdMusic(this.#rateHz) : null;
    this.#musicSample = 0;
  }

  /** Adds the slot's side audio to what is sent. */
  addTo(sent: Int16Array): void {
    for (const { fifo } of this.#voices.values())
      if (fifo.pull(this.#frame) !== 'absent') add(sent, this.#frame);
    const music = this.#music;
    if (!music) return;
    for (let n = 0; n < this.#frame.length; n++)
      this.#frame[n] = music[(this.#musicSample + n) % music.length] ?? 0;
    this.#musicSample = (this.#musicSample + this.#frame.length) % music.length;
    add(sent, this.#frame);
  }

  #open(source: string, rateHz: number, stockFrames?: number): Voice {
    const voice = {
      rateHz,
      fifo: new FrameFifo(this.#frame.length, stockFrames),
      converter: rateHz === this.#rateHz ? null : converter(rateHz, this.#rateHz),
    };
    this.#voices.set(source, voice);
    return voice;
  }
}

function converter(fromHz: number, toHz: number): NonNullable<Voice['converter']> {
  const resampler = new Resampler(fromHz, toHz);
  return { resampler, block: new Int16Array(resampler.outputCapacity(frameSamples(fromHz))) };
}

/** Sums two frames, held within 16 bits. */
function add(sum: Int16Array, part: Int16Array): void {
  for (let n = 0; n < sum.length; n++)
    sum[n] = Math.max(-32_768, Math.min(32_767, (sum[n] ?? 0) + (part[n] ?? 0)));
}

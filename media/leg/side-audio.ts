/** Audio sent on a leg beside the agent's replies: other legs, mixed, or music on hold. */

import { frameSamples } from '../dsp/frame.ts';
import { Resampler } from '../dsp/pcm.ts';
import { FrameFifo } from './frame-fifo.ts';
import { holdMusic } from './hold-music.ts';

/** Audio of another leg, on its way into this one. */
interface Voice {
  readonly rateHz: number;
  readonly fifo: FrameFifo;
  /** Null if both legs have the same rate. */
  readonly converter: { readonly resampler: Resampler; readonly block: Int16Array } | null;
}

/** The side audio of one leg; silent at first. */
export class SideAudio {
  readonly #rateHz: number;
  readonly #frame: Int16Array;
  readonly #voices = new Map<string, Voice>();
  #music: Int16Array | null = null;
  #musicSample = 0;

  /** `frame` is the number of samples per slot. */
  constructor(rateHz: number, frame: number) {
    this.#rateHz = rateHz;
    this.#frame = new Int16Array(frame);
  }

  /**
   * Adds a frame of another leg, at that leg's rate. `stockFrames` is the initial stock for audio that
   * arrives less regularly.
   */
  push(source: string, rateHz: number, frame: Int16Array, stockFrames?: number): void {
    const existing = this.#voices.get(source);
    const voice = existing?.rateHz === rateHz ? existing : this.#open(source, rateHz, stockFrames);
    const { converter, fifo } = voice;
    fifo.push(
      converter ? converter.block.subarray(0, converter.resampler.push(frame, converter.block)) : frame,
    );
  }

  /** This source has ended. */
  drop(source: string): void {
    this.#voices.delete(source);
  }

  /** Starts the music from its beginning, or stops it. */
  playMusic(isOn: boolean): void {
    this.#music = isOn ? holdMusic(this.#rateHz) : null;
    this.#musicSample = 0;
  }

  /** Adds the slot's side audio to the audio to send. */
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

/** Sum of two frames, limited to 16 bits. */
function add(sum: Int16Array, part: Int16Array): void {
  for (let n = 0; n < sum.length; n++)
    sum[n] = Math.max(-32_768, Math.min(32_767, (sum[n] ?? 0) + (part[n] ?? 0)));
}

/** What goes out on a leg beside the agent's replies: the voice of the leg it is bridged to, or music while its far end is on hold. */
import { FrameFifo } from './frame-fifo.ts';
import { holdMusic } from './hold-music.ts';

/** The side audio of one leg; silent until told otherwise. */
export class SideAudio {
  readonly #rateHz: number;
  readonly #frame: Int16Array;
  #voice: FrameFifo | null = null;
  #music: Int16Array | null = null;
  #musicSample = 0;

  /** `frame` is the number of samples in one slot. */
  constructor(rateHz: number, frame: number) {
    this.#rateHz = rateHz;
    this.#frame = new Int16Array(frame);
  }

  /** Takes frames of another leg from now on, or no longer. */
  bridge(isOn: boolean): void {
    this.#voice = isOn ? new FrameFifo(this.#frame.length) : null;
  }

  /** One frame of the other leg. */
  push(frame: Int16Array): void {
    this.#voice?.push(frame);
  }

  /** Begins the music at its beginning, or ends it. */
  playMusic(isOn: boolean): void {
    this.#music = isOn ? holdMusic(this.#rateHz) : null;
    this.#musicSample = 0;
  }

  /** Adds the slot's side audio to what is sent. */
  addTo(sent: Int16Array): void {
    if (this.#voice) {
      this.#voice.pull(this.#frame);
      add(sent, this.#frame);
    }
    const music = this.#music;
    if (!music) return;
    for (let n = 0; n < this.#frame.length; n++) this.#frame[n] = music[(this.#musicSample + n) % music.length] ?? 0;
    this.#musicSample = (this.#musicSample + this.#frame.length) % music.length;
    add(sent, this.#frame);
  }
}

/** Sums two frames, held within 16 bits. */
function add(sum: Int16Array, part: Int16Array): void {
  for (let n = 0; n < sum.length; n++) sum[n] = Math.max(-32_768, Math.min(32_767, (sum[n] ?? 0) + (part[n] ?? 0)));
}

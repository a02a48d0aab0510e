/** The agent's voice as a track of a room: passes frames to the native library block by block. */
import type { AudioSource, LocalAudioTrack } from '@livekit/rtc-node';
import { BLOCK_SAMPLES, OUT_RATE_HZ } from '../leg/web-leg.ts';

type Library = typeof import('@livekit/rtc-node');

/** Without a queue of its own the library passes blocks on at once. */
const NO_QUEUE = 0;
/** Most pending blocks in the library: above this its output is stuck, and the leg is replaced. */
const MAX_PENDING_BLOCKS = 100;

/** The agent's track. */
export class AgentTrack {
  readonly track: LocalAudioTrack;
  readonly #library: Library;
  readonly #source: AudioSource;
  readonly #onRefused: (error: unknown) => void;
  #capturing: Promise<void> = Promise.resolve();
  #pendingBlocks = 0;

  constructor(library: Library, onRefused: (error: unknown) => void) {
    this.#library = library;
    this.#onRefused = onRefused;
    this.#source = new library.AudioSource(OUT_RATE_HZ, 1, NO_QUEUE);
    this.track = library.LocalAudioTrack.createAudioTrack('agent', this.#source);
  }

  /**
   * False if the library no longer takes audio. Blocks are sent one after another, because the library does
   * not keep their order.
   */
  capture(frame: Int16Array): boolean {
    if (this.#pendingBlocks > MAX_PENDING_BLOCKS) return false;
    for (let start = 0; start < frame.length; start += BLOCK_SAMPLES) {
      // A copy: the library reads the whole buffer behind a block.
      const block = new this.#library.AudioFrame(
        frame.slice(start, start + BLOCK_SAMPLES),
        OUT_RATE_HZ,
        1,
        BLOCK_SAMPLES,
      );
      this.#pendingBlocks++;
      this.#capturing = this.#capturing
        .then(() => this.#source.captureFrame(block))
        .catch(this.#onRefused)
        .finally(() => {
          this.#pendingBlocks--;
        });
    }
    return true;
  }
}

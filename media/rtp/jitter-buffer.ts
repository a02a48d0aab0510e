/**
 * A small adaptive jitter buffer: takes packets as they arrive and produces exactly one 20 ms frame per slot
 * of the call's clock. It is sample-based, so packets may have any length. Its delay follows the measured
 * jitter and changes only where that is inaudible. Lost audio is concealed by a fading repetition (at most 60
 * ms). The clock is handed in: nothing here waits.
 */

import { FRAME_MS, type FrameKind } from '../dsp/frame.ts';
import { isQuiet, QUIET_PEAK } from '../dsp/pcm.ts';
import { unwrap } from './packet.ts';
import { TransitFilter } from './transit.ts';

/** Capacity of the ring, ms; packets further ahead start a new timeline. */
const RING_MS = 1024;
const MIN_DELAY_MS = 20;
const MAX_DELAY_MS = 160;
/** Margin above the largest recent jitter. */
const HEADROOM_MS = 5;
/** Decay of the jitter peak per packet: half of it in about 7 s. */
const PEAK_DECAY = 0.002;
/** Excess over the target delay above which audible audio is skipped. */
const MAX_EXCESS_MS = 80;
/** This many consecutive packets too late to play: the sender's timeline moved; the network is not slow. */
const RESYNC_AFTER_LATE = 10;
/** Gains of the repetitions that conceal a loss (they fade within 60 ms). */
const CONCEALMENT_GAINS: readonly number[] = [0.85, 0.5, 0.2];

/** Converts one RTP stream to slot frames. */
export class JitterBuffer {
  readonly #rateHz: number;
  readonly #clockHz: number;
  readonly #frame: number;
  readonly #ring: Int16Array;
  readonly #present: Uint8Array;
  readonly #transit = new TransitFilter();
  readonly #lastFrame: Int16Array;
  /** Position (unwrapped timestamp, in samples) of the next sample to play; null before the stream begins. */
  #playhead: number | null = null;
  /** Positions of the first buffered sample and of the end of the newest. */
  #first = 0;
  #newest: number | null = null;
  #peakMs = 0;
  #lateInRow = 0;
  #missedFrames = CONCEALMENT_GAINS.length;
  #isSenderSilent = false;
  /** Position at which the sender's last announced silence ended. */
  #silentUntil = 0;
  #lagMs = 0;

  /** `rateHz` is the rate of the samples, `clockHz` that of the timestamps. */
  constructor(rateHz: number, clockHz: number) {
    this.#rateHz = rateHz;
    this.#clockHz = clockHz;
    this.#ring = new Int16Array((rateHz * RING_MS) / 1000);
    this.#present = new Uint8Array(this.#ring.length);
    this.#frame = (rateHz * FRAME_MS) / 1000;
    this.#lastFrame = new Int16Array(this.#frame);
  }

  /** Delay from the fastest possible arrival of a sample to its slot, ms. */
  get delayMs(): number {
    return Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, this.#peakMs + HEADROOM_MS));
  }

  /**
   * How early, before its slot, the last frame would have arrived without delay, ms; 0 before the stream
   * begins.
   */
  get lagMs(): number {
    return this.#lagMs;
  }

  /**
   * Takes the audio of one packet; returns the clock time at which a sender without delay would have recorded
   * its first sample.
   */
  push(timestamp: number, samples: Int16Array, arrivalMs: number): number {
    const start = this.#place(timestamp, samples.length, arrivalMs);
    if (this.#isSenderSilent) this.#silentUntil = start;
    this.#isSenderSilent = false;
    const passed = Math.min(samples.length, Math.max(0, (this.#playhead ?? start) - start));
    const ring = this.#ring;
    const present = this.#present;
    let slot = this.#slotOf(start + passed);
    for (let n = passed; n < samples.length; n++) {
      ring[slot] = samples[n] as number;
      present[slot] = 1;
      if (++slot === ring.length) slot = 0;
    }
    return this.#transit.arrivalOf((start * 1000) / this.#rateHz) - (samples.length * 1000) / this.#rateHz;
  }

  /**
   * The sender announced silence from here on (comfort noise, RFC 3389, or a telephone event instead of
   * audio).
   */
  pushSilence(timestamp: number, arrivalMs: number): void {
    this.#place(timestamp, 0, arrivalMs);
    this.#isSenderSilent = true;
  }

  /** True if this timestamp belongs to the next frame or an earlier one. */
  isDue(timestamp: number): boolean {
    if (this.#newest === null) return true;
    return this.#unwrapped(this.#newest, timestamp) < (this.#playhead ?? this.#first) + this.#frame;
  }

  /** Fills `out` with the frame of the slot that begins at `nowMs`. */
  pull(out: Int16Array, nowMs: number): FrameKind {
    if (this.#newest === null) return this.#withoutAudio(out, 'absent');
    const wanted = ((nowMs - this.#transit.minimumMs - this.delayMs) * this.#rateHz) / 1000;
    if (this.#playhead === null) {
      if (wanted < this.#first) return this.#withoutAudio(out, 'absent');
      this.#playhead = this.#first;
    }
    this.#catchUp(wanted);
    const playhead = this.#playhead;
    this.#lagMs = nowMs - this.#transit.arrivalOf((playhead * 1000) / this.#rateHz);
    const found = this.#copy(playhead, out);
    // More delay is needed: if the playhead waits, a missing frame may still arrive; a quiet frame is not
    // missed.
    const lead = playhead - wanted;
    if (found === 0 ? lead >= this.#frame / 4 : lead >= this.#frame && isQuiet(out))
      return this.#conceal(out);
    this.#forget(playhead);
    this.#playhead = playhead + this.#frame;
    if (found * 2 < this.#frame) return this.#conceal(out);
    this.#lastFrame.set(out);
    this.#missedFrames = 0;
    return 'audio';
  }

  /** Unwraps the timestamp, measures its jitter and follows jumps of the sender's timeline. */
  #place(timestamp: number, length: number, arrivalMs: number): number {
    // Positions start one wrap up, so that packets before the first stay positive.
    let start =
      this.#newest === null ? this.#samplesOf(timestamp + 2 ** 32) : this.#unwrapped(this.#newest, timestamp);
    const isLate = this.#playhead !== null && start + length <= this.#playhead;
    this.#lateInRow = isLate && length > 0 ? this.#lateInRow + 1 : 0;
    const base = this.#playhead ?? this.#first;
    if (
      this.#newest === null ||
      start + length > base + this.#ring.length ||
      this.#lateInRow >= RESYNC_AFTER_LATE
    ) {
      this.#restart();
      start = this.#samplesOf(timestamp + 2 ** 32);
      this.#first = start;
    }
    if (this.#playhead === null) this.#first = Math.min(this.#first, start);
    this.#newest = Math.max(this.#newest ?? 0, start + length);
    const lateMs = this.#transit.observe((start * 1000) / this.#rateHz, arrivalMs);
    this.#peakMs = Math.max(lateMs, this.#peakMs * (1 - PEAK_DECAY));
    return start;
  }

  /** Position of a timestamp in samples, nearest to another position. */
  #unwrapped(reference: number, timestamp: number): number {
    return this.#samplesOf(unwrap(Math.round((reference * this.#clockHz) / this.#rateHz), timestamp, 32));
  }

  #samplesOf(clockTime: number): number {
    return Math.round((clockTime * this.#rateHz) / this.#clockHz);
  }

  #restart(): void {
    this.#transit.reset();
    this.#present.fill(0);
    this.#playhead = null;
    this.#lagMs = 0;
    this.#newest = null;
    this.#silentUntil = 0;
    this.#lateInRow = 0;
    this.#peakMs = 0;
  }

  /** Skips a frame if the buffer is above its target: a quiet one, or any if it is far above. */
  #catchUp(wanted: number): void {
    const playhead = this.#playhead ?? 0;
    const excess = wanted - playhead;
    if (excess < this.#frame * 1.5 || (this.#newest ?? 0) < playhead + 2 * this.#frame) return;
    if (excess < (MAX_EXCESS_MS * this.#rateHz) / 1000 && !this.#isQuietAt(playhead)) return;
    this.#forget(playhead);
    this.#playhead = playhead + this.#frame;
  }

  #copy(from: number, out: Int16Array): number {
    const ring = this.#ring;
    const present = this.#present;
    const frame = this.#frame;
    let found = 0;
    let slot = this.#slotOf(from);
    for (let n = 0; n < frame; n++) {
      const isPresent = present[slot] as number;
      out[n] = isPresent ? (ring[slot] as number) : 0;
      found += isPresent;
      if (++slot === ring.length) slot = 0;
    }
    return found;
  }

  /** Drops one frame. */
  #forget(from: number): void {
    const present = this.#present;
    const slot = this.#slotOf(from);
    const beyond = slot + this.#frame - present.length;
    present.fill(0, slot, slot + this.#frame);
    if (beyond > 0) present.fill(0, 0, beyond);
  }

  #isQuietAt(from: number): boolean {
    const ring = this.#ring;
    const present = this.#present;
    let slot = this.#slotOf(from);
    for (let n = 0; n < this.#frame; n++) {
      if (present[slot] && Math.abs(ring[slot] as number) > QUIET_PEAK) return false;
      if (++slot === ring.length) slot = 0;
    }
    return true;
  }

  /**
   * Index of a position in the ring. Computed once per run of samples: positions exceed 32 bits, whose
   * remainder is expensive, and the result is a small integer, so that no step from it allocates a number.
   */
  #slotOf(position: number): number {
    return (position % this.#ring.length) | 0;
  }

  #conceal(out: Int16Array): FrameKind {
    const gain = CONCEALMENT_GAINS[this.#missedFrames];
    if (this.#isSenderSilent || (this.#playhead ?? 0) <= this.#silentUntil)
      return this.#withoutAudio(out, 'silent');
    if (gain === undefined) return this.#withoutAudio(out, 'absent');
    for (let n = 0; n < this.#frame; n++) out[n] = Math.round((this.#lastFrame[n] as number) * gain);
    this.#missedFrames++;
    return 'concealed';
  }

  #withoutAudio(out: Int16Array, kind: FrameKind): FrameKind {
    out.fill(0);
    return kind;
  }
}

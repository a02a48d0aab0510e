/**
 * Records the sides of one leg on the call's clock. Each track has one frame per slot, silence where there is
 * no audio, and is emitted in segments of 4.8 s: with what uploads take and wait, a lost worker loses at
 * most five seconds.
 */

import { FRAME_MS } from '../dsp/frame.ts';
import type { LegEvent, RecordingTrack } from './leg.ts';

/** Slots per segment. */
const SEGMENT_SLOTS = 4800 / FRAME_MS;

/** The events a recorder emits. */
export type RecordingEvent = Extract<LegEvent, { type: 'recording' }>;

/** Options of a recorder. */
export interface RecorderOptions {
  /** Clock time of slot 0, ms. */
  readonly originMs: number;
  readonly userRateHz: number;
  readonly agentRateHz: number;
  readonly firstSegment: number;
  /** `human`: one track, with the peer's audio. */
  readonly of?: 'human' | undefined;
}

/** One or two tracks on one timeline. */
export class Recorder {
  readonly #far: Track;
  readonly #agent: Track | null;

  constructor(options: RecorderOptions, emit: (event: RecordingEvent) => void) {
    const { originMs, firstSegment } = options;
    const track = (name: RecordingTrack, rateHz: number) =>
      new Track({ name, rateHz, originMs, segment: firstSegment }, emit);
    this.#far = track(options.of ?? 'user', options.userRateHz);
    this.#agent = options.of === 'human' ? null : track('agent', options.agentRateHz);
  }

  /**
   * Adds one slot: what the peer said and what the agent said. Slots ascend; missing ones are silent.
   * `lagSlots` is the delay of `user` in a jitter buffer, in slots.
   */
  write(slot: number, user: Int16Array, agent: Int16Array, lagSlots = 0): void {
    this.#far.begin(slot);
    this.#far.write(slot - lagSlots, user);
    this.#agent?.write(slot, agent);
  }

  /** Emits the rest. */
  close(): void {
    this.#far.close();
    this.#agent?.close();
  }
}

class Track {
  readonly #name: RecordingTrack;
  readonly #rateHz: number;
  readonly #originMs: number;
  readonly #frame: number;
  readonly #emit: (event: RecordingEvent) => void;
  #segment: number;
  #samples: Int16Array | null = null;
  /** First slot of the current segment; null before the first frame. */
  #firstSlot: number | null = null;
  /** Slots of the current segment up to the last frame written. */
  #slots = 0;

  constructor(
    options: { name: RecordingTrack; rateHz: number; originMs: number; segment: number },
    emit: (event: RecordingEvent) => void,
  ) {
    this.#name = options.name;
    this.#rateHz = options.rateHz;
    this.#originMs = options.originMs;
    this.#frame = (options.rateHz * FRAME_MS) / 1000;
    this.#segment = options.segment;
    this.#emit = emit;
  }

  /** The track begins here at the latest. */
  begin(slot: number): void {
    this.#firstSlot ??= slot;
  }

  /** Writes one frame over what was there. Ignores frames of a segment that was already emitted. */
  write(slot: number, frame: Int16Array): void {
    this.#firstSlot ??= slot;
    if (slot < this.#firstSlot) return;
    while (slot >= this.#firstSlot + SEGMENT_SLOTS) this.#finish(SEGMENT_SLOTS);
    this.#samples ??= new Int16Array(SEGMENT_SLOTS * this.#frame);
    const index = slot - this.#firstSlot;
    this.#samples.set(frame, index * this.#frame);
    this.#slots = Math.max(this.#slots, index + 1);
    if (this.#slots === SEGMENT_SLOTS) this.#finish(SEGMENT_SLOTS);
  }

  close(): void {
    if (this.#slots > 0) this.#finish(this.#slots);
  }

  #finish(slots: number): void {
    const firstSlot = this.#firstSlot ?? 0;
    const whole = this.#samples ?? new Int16Array(slots * this.#frame);
    const samples = whole.length === slots * this.#frame ? whole : whole.slice(0, slots * this.#frame);
    const startMs = this.#originMs + firstSlot * FRAME_MS;
    this.#emit({
      type: 'recording',
      track: this.#name,
      segment: this.#segment,
      startMs,
      rateHz: this.#rateHz,
      samples,
    });
    this.#segment++;
    this.#firstSlot = firstSlot + slots;
    this.#samples = null;
    this.#slots = 0;
  }
}

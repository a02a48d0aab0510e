/**
 * Events of every leg of a media thread, sent up in batches of at most one per 5 ms. Caller audio of all legs
 * shares one transferred buffer, five frames at a time; other events travel as objects.
 */
import { FRAME_KINDS, FRAME_MS, type FrameKind } from '../dsp/frame.ts';
import type { LegEvent } from './leg.ts';

/** A batch of events: `records` keeps their order; caller audio is in `samples`, other events in `events`. */
export interface EventBatch {
  /**
   * Seven numbers per event: leg, number of frames (0: take the next of `events`), their kinds (two bits
   * each), slot, time in ms, offset and length in `samples`.
   */
  readonly records: Float64Array;
  readonly samples: Int16Array;
  readonly events: readonly LegEvent[];
}

const RECORD_NUMBERS = 7;
const KIND_BITS = 2;
/**
 * Caller audio is sent at this interval for all legs together: recognisers take pieces of this length, and a
 * message, a write and a system call per frame and call would dominate the cost. Any other event is sent at
 * once, after the audio before it.
 */
const AUDIO_FRAMES = 5;
const AUDIO_MS = AUDIO_FRAMES * FRAME_MS;
/** Room for the audio of 20 narrow-band legs; grows as needed. */
const FIRST_CAPACITY_SAMPLES = 8192;
const FIRST_CAPACITY_RECORDS = 64;

/** Consecutive frames of one leg that wait to be sent. */
interface WaitingAudio {
  slot: number;
  atMs: number;
  frames: number;
  kinds: number;
  readonly samples: Int16Array;
}

/** Collects the events of every leg between two batches. */
export class EventBatcher {
  readonly #waiting = new Map<number, WaitingAudio>();
  #records = new Float64Array(FIRST_CAPACITY_RECORDS * RECORD_NUMBERS);
  #recorded = 0;
  #samples = new Int16Array(FIRST_CAPACITY_SAMPLES);
  #used = 0;
  #events: LegEvent[] = [];
  #audioDueMs = Number.NEGATIVE_INFINITY;

  /** Adds a frame of caller audio; copies the samples. */
  addAudio(
    leg: number,
    frame: { readonly slot: number; readonly atMs: number; readonly kind: FrameKind },
    samples: Int16Array,
  ): void {
    let audio = this.#waiting.get(leg);
    if (!audio) {
      audio = {
        slot: 0,
        atMs: 0,
        frames: 0,
        kinds: 0,
        samples: new Int16Array(AUDIO_FRAMES * samples.length),
      };
      this.#waiting.set(leg, audio);
    }
    if (audio.frames === AUDIO_FRAMES || frame.slot !== audio.slot + audio.frames)
      this.#recordAudio(leg, audio);
    if (audio.frames === 0) {
      audio.slot = frame.slot;
      audio.atMs = frame.atMs;
      audio.kinds = 0;
    }
    audio.samples.set(samples, audio.frames * samples.length);
    audio.kinds |= FRAME_KINDS.indexOf(frame.kind) << (KIND_BITS * audio.frames);
    audio.frames++;
  }

  /** Adds any other event, after the leg's audio so far. */
  add(leg: number, event: LegEvent): void {
    const audio = this.#waiting.get(leg);
    if (audio) this.#recordAudio(leg, audio);
    if (event.type === 'closed') this.#waiting.delete(leg);
    this.#events.push(event);
    this.#record(leg, 0, 0, 0, 0, 0, 0);
  }

  /** The batch to send at `nowMs` and the buffers to transfer with it; null if there is none. */
  take(nowMs: number): { readonly batch: EventBatch; readonly transfer: ArrayBuffer[] } | null {
    if (nowMs >= this.#audioDueMs) {
      this.#audioDueMs = nowMs - this.#audioDueMs < AUDIO_MS ? this.#audioDueMs + AUDIO_MS : nowMs + AUDIO_MS;
      for (const [leg, audio] of this.#waiting) this.#recordAudio(leg, audio);
    }
    if (this.#recorded === 0) return null;
    const records = this.#records.slice(0, this.#recorded);
    const samples = this.#samples.slice(0, this.#used);
    const transfer = [records.buffer, samples.buffer];
    for (const event of this.#events)
      if (event.type === 'recording') transfer.push(event.samples.buffer as ArrayBuffer);
    const batch = { records, samples, events: this.#events };
    this.#recorded = 0;
    this.#used = 0;
    this.#events = [];
    return { batch, transfer };
  }

  #recordAudio(leg: number, audio: WaitingAudio): void {
    if (audio.frames === 0) return;
    const length = (audio.samples.length / AUDIO_FRAMES) * audio.frames;
    if (this.#used + length > this.#samples.length) {
      const larger = new Int16Array(this.#samples.length * 2 + length);
      larger.set(this.#samples.subarray(0, this.#used));
      this.#samples = larger;
    }
    this.#samples.set(audio.samples.subarray(0, length), this.#used);
    this.#record(leg, audio.frames, audio.kinds, audio.slot, audio.atMs, this.#used, length);
    this.#used += length;
    audio.frames = 0;
  }

  #record(
    ...numbers: [
      leg: number,
      frames: number,
      kinds: number,
      slot: number,
      atMs: number,
      offset: number,
      length: number,
    ]
  ): void {
    if (this.#recorded + RECORD_NUMBERS > this.#records.length) {
      const larger = new Float64Array(this.#records.length * 2);
      larger.set(this.#records);
      this.#records = larger;
    }
    this.#records.set(numbers, this.#recorded);
    this.#recorded += RECORD_NUMBERS;
  }
}

/** The events of a batch by leg, in order for each leg. */
export function unpackEvents(batch: EventBatch): Map<number, LegEvent[]> {
  const byLeg = new Map<number, LegEvent[]>();
  const { records } = batch;
  let other = 0;
  for (let at = 0; at < records.length; at += RECORD_NUMBERS) {
    // Reads numbers one by one: destructuring a view of each record cost three times as much.
    const leg = records[at] as number;
    const frames = records[at + 1] as number;
    let events = byLeg.get(leg);
    if (!events) {
      events = [];
      byLeg.set(leg, events);
    }
    if (frames === 0) {
      events.push(batch.events[other++] as LegEvent);
      continue;
    }
    const packed = records[at + 2] as number;
    const kinds = new Uint8Array(frames);
    for (let frame = 0; frame < frames; frame++) kinds[frame] = (packed >> (KIND_BITS * frame)) & 3;
    const [slot, atMs] = [records[at + 3] as number, records[at + 4] as number];
    const offset = records[at + 5] as number;
    const samples = batch.samples.subarray(offset, offset + (records[at + 6] as number));
    events.push({ type: 'audio', slot, atMs, kinds, samples });
  }
  return byLeg;
}

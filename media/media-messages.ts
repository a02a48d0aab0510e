/**
 * What the call loop's thread and the media thread say to each other: one batched message per 5 ms each way.
 * Caller audio of a whole batch travels in one transferred buffer; everything rarer travels as the event itself.
 */
import type { FaultCode } from '#config/errors.ts';
import { FRAME_KINDS, FRAME_MS, type FrameKind, type Leg, type LegCommand, type LegEvent } from './leg.ts';
import type { LivekitLegOptions, RtpLegOptions, WebrtcLegOptions } from './media-host.ts';

/** What the media thread is started with. */
export interface MediaThreadSettings {
  readonly rtpPortMin: number;
  readonly rtpPortMax: number;
  readonly publicIp: string | null;
  readonly iceServers: readonly IceServer[];
}

/** A STUN or TURN server as WebRTC takes it. */
export interface IceServer {
  readonly urls: string | string[];
  readonly username?: string | undefined;
  readonly credential?: string | undefined;
}

/** A command and the number of the leg it is for. */
export interface AddressedCommand {
  readonly leg: number;
  readonly command: LegCommand;
}

/** Call loop → media thread. */
export type ToMediaThread =
  /** Comes first. */
  | { readonly type: 'start'; readonly settings: MediaThreadSettings }
  | { readonly type: 'commands'; readonly commands: readonly AddressedCommand[] }
  | { readonly type: 'openRtp'; readonly leg: number; readonly options: RtpLegOptions }
  | { readonly type: 'openWebrtc'; readonly leg: number; readonly options: WebrtcLegOptions }
  | { readonly type: 'openLivekit'; readonly leg: number; readonly options: LivekitLegOptions }
  | { readonly type: 'stop' };

/** Media thread → call loop. */
export type FromMediaThread =
  | { readonly type: 'ready' }
  | { readonly type: 'events'; readonly batch: EventBatch }
  | { readonly type: 'opened'; readonly leg: number; readonly opened: OpenedLeg }
  | { readonly type: 'refused'; readonly leg: number; readonly code: FaultCode; readonly message: string }
  | { readonly type: 'log'; readonly level: 'info' | 'warn' | 'error'; readonly message: string; readonly detail: string | null }
  | { readonly type: 'stopped' };

/** What the call loop learns of a leg that was opened. */
export interface OpenedLeg {
  readonly inRateHz: number;
  readonly outRateHz: number;
  readonly originMs: number;
  /** Bound RTP port; null for other legs. */
  readonly localPort: number | null;
  /** SDP answer of a WebRTC leg; null for other legs. */
  readonly answerSdp: string | null;
}

/** One batch of events: `records` keeps their order; caller audio stands in `samples`, every other event in `events`. */
export interface EventBatch {
  /** Six numbers per event: leg, kind of frame (−1: the next of `events`), slot, time in ms, offset and length in `samples`. */
  readonly records: Float64Array;
  readonly samples: Int16Array;
  readonly events: readonly LegEvent[];
}

const RECORD_NUMBERS = 6;
const OTHER_EVENT = -1;
/** Room for the frames of 50 narrow-band legs; grows with use. */
const FIRST_CAPACITY_SAMPLES = 8192;
const FIRST_CAPACITY_RECORDS = 64;

/** Collects the events of every leg between two batches. */
export class EventBatcher {
  #records = new Float64Array(FIRST_CAPACITY_RECORDS * RECORD_NUMBERS);
  #recorded = 0;
  #samples = new Int16Array(FIRST_CAPACITY_SAMPLES);
  #used = 0;
  #events: LegEvent[] = [];

  /** Adds one frame of caller audio; the samples are copied. */
  addAudio(leg: number, frame: { readonly slot: number; readonly atMs: number; readonly kind: FrameKind }, samples: Int16Array): void {
    if (this.#used + samples.length > this.#samples.length) {
      const larger = new Int16Array(this.#samples.length * 2 + samples.length);
      larger.set(this.#samples.subarray(0, this.#used));
      this.#samples = larger;
    }
    this.#samples.set(samples, this.#used);
    this.#record([leg, FRAME_KINDS.indexOf(frame.kind), frame.slot, frame.atMs, this.#used, samples.length]);
    this.#used += samples.length;
  }

  /** Adds any other event. */
  add(leg: number, event: LegEvent): void {
    this.#events.push(event);
    this.#record([leg, OTHER_EVENT, 0, 0, 0, 0]);
  }

  /** The batch so far and the buffers to transfer with it, or null when there is nothing; the batcher starts anew. */
  take(): { readonly batch: EventBatch; readonly transfer: ArrayBuffer[] } | null {
    if (this.#recorded === 0) return null;
    const records = this.#records.slice(0, this.#recorded);
    const samples = this.#samples.subarray(0, this.#used);
    const transfer = [records.buffer, this.#samples.buffer];
    for (const event of this.#events) if (event.type === 'recording') transfer.push(event.samples.buffer as ArrayBuffer);
    const batch = { records, samples, events: this.#events };
    this.#recorded = 0;
    this.#used = 0;
    this.#events = [];
    this.#samples = new Int16Array(this.#samples.length);
    return { batch, transfer };
  }

  #record(numbers: readonly number[]): void {
    if (this.#recorded + RECORD_NUMBERS > this.#records.length) {
      const larger = new Float64Array(this.#records.length * 2);
      larger.set(this.#records);
      this.#records = larger;
    }
    this.#records.set(numbers, this.#recorded);
    this.#recorded += RECORD_NUMBERS;
  }
}

/** The events of a batch by leg, each leg's in order. */
export function unpackEvents(batch: EventBatch): Map<number, LegEvent[]> {
  const byLeg = new Map<number, LegEvent[]>();
  let other = 0;
  for (let at = 0; at < batch.records.length; at += RECORD_NUMBERS) {
    const [leg, kind, slot, atMs, offset, length] = batch.records.subarray(at, at + RECORD_NUMBERS) as unknown as [number, ...number[]];
    const events = byLeg.get(leg) ?? [];
    byLeg.set(leg, events);
    if (kind === OTHER_EVENT) {
      events.push(batch.events[other++] as LegEvent);
      continue;
    }
    const samples = batch.samples.subarray(offset, (offset as number) + (length as number));
    events.push({ type: 'audio', slot: slot as number, atMs: atMs as number, kinds: Uint8Array.of(kind as number), samples });
  }
  return byLeg;
}

/** The id a leg has on the call loop's side. */
export function legId(kind: Leg['kind'], number: number): string {
  return `${kind}-${number}`;
}

/** The number behind an RTP leg's id; NaN for any other leg's. */
export function rtpLegNumber(id: string): number {
  return id.startsWith('rtp-') ? Number(id.slice('rtp-'.length)) : Number.NaN;
}

/** Number of samples in one frame at this rate. */
export function frameSamples(rateHz: number): number {
  return (rateHz * FRAME_MS) / 1000;
}

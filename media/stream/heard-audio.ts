/**
 * What the caller has heard of the audio sent into a vendor's stream. The vendor keeps audio until it is
 * played, so sent is not heard: marks between the frames come back once they are reached, and events of the
 * playout that say that something was said wait for them. Pure; the time is handed in.
 */
import { FRAME_MS } from '../dsp/frame.ts';
import type { PlayoutPosition } from '../leg/leg.ts';
import type { PlayoutEvent } from '../leg/playout.ts';

/** A mark follows at least every so many frames, and every frame with which something was said. */
const MARK_EVERY_FRAMES = 5;
/**
 * So much audio may be with the vendor or on its way, in frames: a reply waits until some of it was heard.
 * It is also what a stall of the connection can delay a reply by. The way there and back takes part of it.
 */
export const MAX_UNHEARD_FRAMES = 40;
/** A mark that does not come back within this time, ms, is not waited for. */
const MARK_TIMEOUT_MS = 3_000;

interface SentFrame {
  readonly number: number;
  readonly sentMs: number;
  /** Of the playout, after this frame. */
  readonly position: PlayoutPosition | null;
  readonly events: PlayoutEvent[];
}

interface HeardFrame extends Pick<SentFrame, 'number' | 'position'> {
  readonly atMs: number;
}

/** The audio of one stream. */
export class HeardAudio {
  readonly #emit: (event: PlayoutEvent) => void;
  /** Sent and, as far as known, not heard, oldest first. */
  #unheard: SentFrame[] = [];
  /** Of the slot that is being filled. */
  #events: PlayoutEvent[] = [];
  #number = 0;
  #marked = 0;
  /** A mark did not come back: until one does, what is sent counts as heard, an estimate. */
  #isEstimating = false;
  /** The last frame known to be heard, and when that was. */
  #heard: HeardFrame = { number: 0, atMs: 0, position: null };

  constructor(emit: (event: PlayoutEvent) => void) {
    this.#emit = emit;
  }

  /** False while the reply has to wait for the vendor. */
  get canSend(): boolean {
    return this.#unheard.length < MAX_UNHEARD_FRAMES;
  }

  /** Takes an event of the playout: of the slot that is being filled, or of a command. */
  take(event: PlayoutEvent, nowMs: number): void {
    if (event.type === 'playout.mark' || event.type === 'playout.finished') this.#events.push(event);
    else if (event.type === 'playout.cleared') this.#clear(event, nowMs);
    else this.#emit(event);
  }

  /** A frame was sent; returns the name of the mark that must follow it, or null. */
  sent(position: PlayoutPosition | null, nowMs: number): string | null {
    const number = ++this.#number;
    if (this.#unheard.length === 0) this.#heard = { ...this.#heard, number: number - 1, atMs: nowMs };
    const events = this.#events.splice(0);
    this.#unheard.push({ number, sentMs: nowMs, position, events });
    if (this.#isEstimating) this.#hear(number, nowMs);
    if (events.length === 0 && number - this.#marked < MARK_EVERY_FRAMES) return null;
    this.#marked = number;
    return String(number);
  }

  /**
   * Ends a slot in which no frame was sent, so that what it said belongs to the frame before: the end of a
   * reply whose last piece is empty.
   */
  endSlot(nowMs: number): void {
    const events = this.#events.splice(0);
    const last = this.#unheard.at(-1);
    if (last) last.events.push(...events);
    else for (const event of events) this.#emit(event);
    const [first] = this.#unheard;
    if (!first || nowMs - first.sentMs <= MARK_TIMEOUT_MS) return;
    this.#isEstimating = true;
    this.#hear(this.#number, nowMs);
  }

  /** A mark came back. One that was not sent, or of audio that was discarded, says nothing new. */
  returned(name: string, nowMs: number): void {
    const number = Number(name);
    if (number === this.#marked) this.#isEstimating = false;
    if (this.#unheard.some((frame) => frame.number === number)) this.#hear(number, nowMs);
  }

  #hear(number: number, atMs: number): void {
    const heard = this.#unheard.filter((frame) => frame.number <= number);
    this.#unheard = this.#unheard.filter((frame) => frame.number > number);
    this.#heard = { number, atMs, position: heard.at(-1)?.position ?? this.#heard.position };
    for (const { events } of heard) for (const event of events) this.#emit({ ...event, atMs });
  }

  /** The vendor discards the rest: between two marks, as much was heard as time has passed. */
  #clear(event: Extract<PlayoutEvent, { type: 'playout.cleared' }>, nowMs: number): void {
    const number = this.#heard.number + Math.floor((nowMs - this.#heard.atMs) / FRAME_MS);
    const heard = this.#unheard.findLast((frame) => frame.number <= number);
    if (heard) this.#hear(heard.number, nowMs);
    const [next] = this.#unheard;
    this.#emit({ ...event, position: next ? this.#positionBefore(next) : event.position });
    this.#unheard = [];
    this.#events = [];
  }

  /** Where a frame begins that was not heard: after the last one that was, or with its piece. */
  #positionBefore({ position }: SentFrame): PlayoutPosition | null {
    const heard = this.#heard.position;
    return heard?.replyId === position?.replyId ? heard : position && { ...position, sample: 0 };
  }
}

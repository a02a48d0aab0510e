/**
 * Restores the order of one stream's packets by sequence number: the next one passes at once; an early one
 * waits for the missing ones until its owner gives up on them. Pure.
 */
import { type RtpPacket, unwrap } from './packet.ts';

/** A larger jump forward is a restarted sender, not packets in transit. */
const MAX_GAP = 50;
/** This many consecutive packets before the last passed one: the sender restarted its count. */
const RESYNC_AFTER_BEHIND = 10;

interface Held {
  /** Unwrapped sequence number. */
  readonly place: number;
  readonly packet: RtpPacket;
  readonly arrivedMs: number;
}

/** The packets of one stream. */
export class ArrivalOrder {
  readonly #pass: (packet: RtpPacket, arrivedMs: number) => void;
  readonly #held: Held[] = [];
  /** The next expected sequence number, unwrapped. */
  #next: number | null = null;
  #behindInRow = 0;

  /** `pass` gets each packet at most once, in order, with its own arrival time. */
  constructor(pass: (packet: RtpPacket, arrivedMs: number) => void) {
    this.#pass = pass;
  }

  /**
   * Takes a packet, whose payload is valid only during this call; false if later packets have already passed,
   * so that it never will.
   */
  push(packet: RtpPacket, arrivedMs: number): boolean {
    const place = this.#next === null ? packet.sequence : unwrap(this.#next, packet.sequence, 16);
    const gap = place - (this.#next ?? place);
    this.#behindInRow = gap < 0 ? this.#behindInRow + 1 : 0;
    if (gap < 0 && this.#behindInRow < RESYNC_AFTER_BEHIND) return false;
    if (gap < 0 || gap > MAX_GAP) this.giveUp(() => true);
    if (gap > 0 && gap <= MAX_GAP) this.#hold({ place, packet, arrivedMs });
    else this.#give(place, packet, arrivedMs);
    return true;
  }

  /** Stops waiting for the packets missing before a held one that is due. */
  giveUp(isDue: (packet: RtpPacket, arrivedMs: number) => boolean): void {
    while (this.#held.some(({ packet, arrivedMs }) => isDue(packet, arrivedMs))) this.#giveFirst();
  }

  /** True while a packet waits for missing ones. */
  get isWaiting(): boolean {
    return this.#held.length > 0;
  }

  #hold(held: Held): void {
    const behind = this.#held.findIndex(({ place }) => place >= held.place);
    if (this.#held[behind]?.place === held.place) return;
    const packet = { ...held.packet, payload: held.packet.payload.slice() };
    this.#held.splice(behind < 0 ? this.#held.length : behind, 0, { ...held, packet });
  }

  #giveFirst(): void {
    const { place, packet, arrivedMs } = this.#held.shift() as Held;
    this.#give(place, packet, arrivedMs);
  }

  /** Passes a packet, and those that waited only for it. */
  #give(place: number, packet: RtpPacket, arrivedMs: number): void {
    this.#next = place + 1;
    this.#pass(packet, arrivedMs);
    if (this.#held[0]?.place === this.#next) this.#giveFirst();
  }
}

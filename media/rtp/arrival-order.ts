/**
 * Puts the packets of one stream back in order by their sequence numbers: one that follows its predecessor
 * passes at once, one that came too early waits for what is missing until its owner gives that up. Pure.
 */
import { type RtpPacket, unwrap } from './packet.ts';

/** A jump further ahead is a sender that began anew, not packets on their way. */
const LARGEST_GAP = 50;
/** So many in a row behind what has passed: the sender counts anew. */
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
  /** The sequence number that follows, unwrapped. */
  #next: number | null = null;
  #behindInRow = 0;

  /** `pass` gets each packet at most once, in order, with its own time of arrival. */
  constructor(pass: (packet: RtpPacket, arrivedMs: number) => void) {
    this.#pass = pass;
  }

  /**
   * Takes a packet, its payload good only for this call; false when it came behind those that have passed,
   * and so never will.
   */
  push(packet: RtpPacket, arrivedMs: number): boolean {
    const place = this.#next === null ? packet.sequence : unwrap(this.#next, packet.sequence, 16);
    const gap = place - (this.#next ?? place);
    this.#behindInRow = gap < 0 ? this.#behindInRow + 1 : 0;
    if (gap < 0 && this.#behindInRow < RESYNC_AFTER_BEHIND) return false;
    if (gap < 0 || gap > LARGEST_GAP) this.giveUp(() => true);
    if (gap > 0 && gap <= LARGEST_GAP) this.#hold({ place, packet, arrivedMs });
    else this.#give(place, packet, arrivedMs);
    return true;
  }

  /** Waits no longer for what is missing before a held packet that is due. */
  giveUp(isDue: (packet: RtpPacket, arrivedMs: number) => boolean): void {
    while (this.#held.some(({ packet, arrivedMs }) => isDue(packet, arrivedMs))) this.#giveFirst();
  }

  /** True while a packet waits for what is missing before it. */
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

  /** Passes a packet on, and what waited for nothing but it. */
  #give(place: number, packet: RtpPacket, arrivedMs: number): void {
    this.#next = place + 1;
    this.#pass(packet, arrivedMs);
    if (this.#held[0]?.place === this.#next) this.#giveFirst();
  }
}

/** Notices that nothing is heard from the peer of an RTP leg, and says which packets came instead. */
import type { UnheardPeer } from '../leg/leg.ts';
import type { RtpRemote } from '../leg/rtp-remote.ts';

/** A peer from which nothing was accepted for this long is unheard. */
const UNHEARD_MS = 3_000;
/** Refused source addresses that are kept. */
const MAX_REFUSED = 4;
/** Reports of one leg: a far end can change its address without end. */
const MAX_REPORTS = 8;

/** Watches one peer until its first accepted packet. */
export class PeerWatch {
  /** A peer heard on an earlier leg may be silent: only packets that were not accepted count against it. */
  readonly #mayBeSilent: boolean;
  readonly #refused = new Set<string>();
  #unreadable = 0;
  #remote: RtpRemote | null = null;
  #sinceMs = 0;
  #isHeard = false;
  #isUnheard = false;
  #reportsLeft = MAX_REPORTS;
  /** There is something to report that was not reported yet. */
  #hasNews = true;

  constructor({ mayBeSilent }: { readonly mayBeSilent: boolean }) {
    this.#mayBeSilent = mayBeSilent;
  }

  /** The reason why the peer is unheard; null unless it is. */
  get unheard(): UnheardPeer | null {
    if (!this.#isUnheard || !this.#remote) return null;
    return {
      // The addresses of the operator's relay and network are not for tenants.
      expectedAddress: this.#remote.isRelay ? null : this.#remote.address,
      refusedAddresses: this.#remote.isRelay ? [] : [...this.#refused],
      unreadablePackets: this.#unreadable,
    };
  }

  /** Sets the negotiated peer and starts the wait anew; what came before belongs to the old address. */
  negotiate(remote: RtpRemote, nowMs: number): void {
    const before = this.#remote;
    this.#remote = remote;
    this.#sinceMs = nowMs;
    if (before === null || (before.address === remote.address && before.port === remote.port)) return;
    this.#refused.clear();
    this.#unreadable = 0;
    this.#hasNews = true;
  }

  /** A packet came from an address that cannot be accepted. */
  refuse(address: string): void {
    if (this.#isHeard || this.#refused.size >= MAX_REFUSED || this.#refused.has(address)) return;
    this.#refused.add(address);
    this.#hasNews = true;
  }

  /** A packet of the peer could not be decrypted or parsed, or its payload type was not negotiated. */
  countUnreadable(): void {
    if (this.#isHeard) return;
    this.#unreadable++;
    if (this.#unreadable === 1) this.#hasNews = true;
  }

  /** A packet was accepted. True if the peer was unheard until now. */
  hear(): boolean {
    const wasUnheard = this.#isUnheard;
    this.#isHeard = true;
    this.#isUnheard = false;
    return wasUnheard;
  }

  /** The operator's warning if the peer has been unheard for 3 s and the reason is new; otherwise null. */
  check(nowMs: number): string | null {
    if (this.#isHeard || !this.#hasNews || !this.#remote || nowMs - this.#sinceMs < UNHEARD_MS) return null;
    const hasCome = this.#refused.size > 0 || this.#unreadable > 0;
    if (this.#reportsLeft === 0 || (this.#mayBeSilent && !hasCome)) return null;
    this.#isUnheard = true;
    this.#hasNews = false;
    this.#reportsLeft--;
    const reasons = hasCome ? this.#whatCame() : 'no packet came';
    return `nothing heard on a phone leg for 3 s: expected ${this.#remote.address}, ${reasons}`;
  }

  #whatCame(): string {
    const refused = [...this.#refused].join(', ');
    return [
      ...(refused === '' ? [] : [`refused packets came from ${refused}`]),
      ...(this.#unreadable > 0
        ? [`unreadable packets: ${this.#unreadable} (another key, codec or protocol)`]
        : []),
    ].join('; ');
  }
}

/**
 * Symmetric RTP (RFC 4961), limited to the negotiated peer: decides from which source address media is
 * accepted and where it is sent. The negotiated address always wins. Another port of it is accepted (NAT).
 * Another address is accepted only if the negotiated one cannot be real (a private address in the SDP of a
 * peer behind NAT) or both are this machine's own (a softphone that names the network card's address and
 * sends from the loopback), and only after several packets of one stream.
 */
import ipaddr from 'ipaddr.js';
import type { IsOwnAddress } from '#base/own-addresses.ts';

/** Packets of one stream that a source must send before it replaces an unreachable negotiated address. */
const PROBATION_PACKETS = 5;
/** A latched source that is silent this long may have moved to another port. */
const STALE_MS = 2000;
/** Addresses that a peer behind NAT may name although they are unreachable from outside. */
const UNREACHABLE_RANGES: ReadonlySet<string> = new Set([
  'private',
  'carrierGradeNat',
  'linkLocal',
  'uniqueLocal',
  'unspecified',
]);

/** Source of a datagram. */
export interface Source {
  readonly address: string;
  readonly port: number;
}

/** Tracks the source of one stream. */
export class Latch {
  readonly #isOwn: IsOwnAddress;
  #negotiated: Source | null = null;
  #isHeardFirst = false;
  #latched: Source | null = null;
  #lastMs = 0;
  #candidate: (Source & { readonly ssrc: number; packets: number }) | null = null;

  constructor(isOwn: IsOwnAddress) {
    this.#isOwn = isOwn;
  }

  /**
   * Sets the address of the answer or re-offer; with `isHeardFirst` nothing is sent there before something
   * was received from there.
   */
  negotiate(remote: Source & { readonly isHeardFirst?: boolean }): void {
    this.#isHeardFirst = remote.isHeardFirst ?? false;
    const canonical = { address: canonicalAddress(remote.address), port: remote.port };
    if (this.#negotiated && isSame(this.#negotiated, canonical)) return;
    this.#negotiated = canonical;
    this.#latched = null;
    this.#candidate = null;
  }

  /** Destination: the latched source, or else the negotiated address if allowed. */
  get target(): Source | null {
    return this.#latched ?? (this.#isHeardFirst ? null : this.#negotiated);
  }

  /** True if this address is that of the latched source, or before it of the negotiated one. */
  #isPeer(address: string): boolean {
    return (this.#latched ?? this.#negotiated)?.address === canonicalAddress(address);
  }

  /** True if packets from this address can be accepted, now or after a probation. */
  mayAccept(address: string): boolean {
    if (this.#isPeer(address)) return true;
    const negotiated = this.#negotiated;
    return !!negotiated && !this.#latched && this.#mayStandIn(canonicalAddress(address), negotiated);
  }

  /** True if a packet from this source belongs to the call. */
  accepts(from: Source, ssrc: number, nowMs: number): boolean {
    const source = from.address.includes(':')
      ? { address: canonicalAddress(from.address), port: from.port }
      : from;
    if (!this.#isAllowed(source, ssrc, nowMs)) return false;
    if (!this.#latched || !isSame(this.#latched, source))
      this.#latched = { address: source.address, port: source.port };
    this.#lastMs = nowMs;
    return true;
  }

  #isAllowed(source: Source, ssrc: number, nowMs: number): boolean {
    const negotiated = this.#negotiated;
    if (!negotiated) return false;
    if (isSame(negotiated, source) || (this.#latched && isSame(this.#latched, source))) return true;
    if (this.#latched && nowMs - this.#lastMs < STALE_MS) return false;
    if (source.address === (this.#latched ?? negotiated).address) return true;
    return !this.#latched && this.#mayStandIn(source.address, negotiated) && this.#hasProved(source, ssrc);
  }

  /** Whether the negotiated peer may send from this other address. */
  #mayStandIn(address: string, negotiated: Source): boolean {
    if (isUnreachable(negotiated.address)) return true;
    return this.#isOwn(negotiated.address) && this.#isOwn(address);
  }

  #hasProved(source: Source, ssrc: number): boolean {
    const known = this.#candidate;
    if (known && isSame(known, source) && known.ssrc === ssrc) return ++known.packets >= PROBATION_PACKETS;
    this.#candidate = { ...source, ssrc, packets: 1 };
    return false;
  }
}

function isSame(a: Source, b: Source): boolean {
  return a.port === b.port && a.address === b.address;
}

/** One spelling per address: `::ffff:192.0.2.1` becomes 192.0.2.1. */
function canonicalAddress(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;
}

function isUnreachable(address: string): boolean {
  return ipaddr.isValid(address) && UNREACHABLE_RANGES.has(ipaddr.process(address).range());
}

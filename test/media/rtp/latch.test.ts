import { describe, expect, it } from 'vitest';
import { Latch } from '#media/rtp/latch.ts';

const carrier = { address: '198.51.100.4', port: 4000 };
const other = { address: '198.51.100.99', port: 4000 };

/** The network card's address and the loopback of the machine that runs the latch. */
const card = { address: '192.0.2.77', port: 4000 };
const loopback = { address: '127.0.0.1', port: 4000 };
const isOwn = (address: string) => [card.address, loopback.address].includes(address);

function latched(remote = carrier): Latch {
  const latch = new Latch(isOwn);
  latch.negotiate(remote);
  return latch;
}

describe('the RTP latch', () => {
  it('accepts nothing before negotiation', () => {
    expect(new Latch(isOwn).accepts(carrier, 1, 0)).toBe(false);
    expect(new Latch(isOwn).target).toBeNull();
  });

  it('accepts the negotiated source and sends to it', () => {
    const latch = latched();
    expect(latch.target).toEqual(carrier);
    expect(latch.accepts(carrier, 1, 0)).toBe(true);
  });

  it('security 12: sends nothing to an unverified address until a packet has arrived from it', () => {
    const latch = new Latch(isOwn);
    latch.negotiate({ ...carrier, isHeardFirst: true });
    expect(latch.target).toBeNull();
    expect(latch.accepts(carrier, 1, 0)).toBe(true);
    expect(latch.target).toEqual(carrier);
    latch.negotiate({ ...other, isHeardFirst: true });
    expect(latch.target).toBeNull();
  });

  it('never accepts another host for a public peer, however many packets it sends', () => {
    const latch = latched();
    expect(Array.from({ length: 50 }, (_, n) => latch.accepts(other, 7, n * 20)).some(Boolean)).toBe(false);
    expect(latch.target).toEqual(carrier);
  });

  it('follows the negotiated address to a second port, then refuses a third', () => {
    const latch = latched();
    const natted = { address: carrier.address, port: 61_000 };
    expect(latch.accepts(natted, 1, 0)).toBe(true);
    expect(latch.target).toEqual(natted);
    expect(latch.accepts({ address: carrier.address, port: 61_002 }, 1, 20)).toBe(false);
    expect(latch.accepts(carrier, 1, 40)).toBe(true);
    expect(latch.target).toEqual(carrier);
  });

  it('accepts a softphone on its own machine that names the network card and sends from the loopback', () => {
    const latch = latched(card);
    expect([1, 2, 3, 4, 5].map((n) => latch.accepts(loopback, 7, n * 20)).at(-1)).toBe(true);
    expect(latch.target).toEqual(loopback);
  });

  it('accepts no stranger for its own machine, and not its own machine for a stranger', () => {
    const packets = [1, 2, 3, 4, 5, 6];
    const own = latched(card);
    expect(packets.some((n) => own.accepts(other, 7, n * 20))).toBe(false);
    const strangers = latched(carrier);
    expect(packets.some((n) => strangers.accepts(loopback, 7, n * 20))).toBe(false);
  });

  it('latches a peer with a private address to its actual source after five packets of one stream', () => {
    const latch = latched({ address: '192.168.1.5', port: 4000 });
    expect([1, 2, 3, 4, 5].map((n) => latch.accepts(other, 7, n * 20))).toEqual([
      false,
      false,
      false,
      false,
      true,
    ]);
    expect(latch.target).toEqual(other);
    expect(latch.accepts({ address: '203.0.113.50', port: 9 }, 7, 120)).toBe(false);
  });

  it('allows a silent source to move to another port', () => {
    const latch = latched();
    latch.accepts(carrier, 1, 0);
    const moved = { address: carrier.address, port: 5555 };
    expect(latch.accepts(moved, 1, 500)).toBe(false);
    expect(latch.accepts(moved, 1, 2500)).toBe(true);
  });

  it('restarts when a different remote is negotiated, and not for the same one', () => {
    const latch = latched();
    const natted = { address: carrier.address, port: 61_000 };
    latch.accepts(natted, 1, 0);
    latch.negotiate(carrier);
    expect(latch.target).toEqual(natted);
    latch.negotiate(other);
    expect(latch.target).toEqual(other);
    expect(latch.accepts(natted, 1, 20)).toBe(false);
  });

  it('recognises an address in any notation', () => {
    const latch = latched();
    expect(latch.accepts({ address: `::ffff:${carrier.address}`, port: carrier.port }, 1, 0)).toBe(true);
    expect(
      latched({ address: '2001:db8:0:0::1', port: 9 }).accepts({ address: '2001:db8::1', port: 9 }, 1, 0),
    ).toBe(true);
  });
});

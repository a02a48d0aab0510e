import { afterEach, describe, expect, it } from 'vitest';
import type { LegEvent } from '#media/leg/leg.ts';
import { PortPool } from '#media/rtp/port-pool.ts';
import type { ManualClock } from '#test/fakes/manual-clock.ts';
import { openManualSession } from './manual-session.ts';

const KEY = Buffer.alloc(30, 7).toString('base64');
const SRTP = { suite: 'AES_CM_128_HMAC_SHA1_80', sendKey: KEY, receiveKey: KEY } as const;

describe('the report on a peer from which nothing is heard', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function open(options: { readonly wasHeard?: boolean } = {}) {
    const session = await openManualSession('PCMU', new PortPool(23_250, 23_259), options);
    closers.push(session.close);
    return session;
  }

  const ELSEWHERE = '203.0.113.9';
  const unheard = (events: readonly LegEvent[]) => {
    const last = events.findLast((event) => event.type === 'media' || event.type === 'closed');
    return last && 'stats' in last ? last.stats.unheard : undefined;
  };

  /** Lets 20 ms at a time pass until the expectation is met: a datagram takes real time. */
  const expectSoon = <Value>(clock: ManualClock, read: () => Value) =>
    expect.poll(async () => {
      await clock.advance(20);
      return read();
    });

  it('says after 3 s, while the call runs and at its end, that no packet came', async () => {
    const { clock, leg, report, logged } = await open();
    await clock.advance(2_900);
    expect(unheard(report())).toBeUndefined();
    await clock.advance(200);
    const nothing = { expectedAddress: '127.0.0.1', refusedAddresses: [], unreadablePackets: 0 };
    expect(unheard(report())).toEqual(nothing);
    leg.command({ do: 'close' });
    expect(report().at(-1)).toMatchObject({ type: 'closed', stats: { unheard: nothing } });
    expect(logged).toEqual(['nothing heard on a phone leg for 3 s: expected 127.0.0.1, no packet came']);
  });

  it('names the addresses that were refused', async () => {
    const { clock, peer, leg, port, report, logged } = await open();
    leg.command({ do: 'setRemote', remote: { ...peer.remote, address: ELSEWHERE } });
    await clock.advance(3_100);
    peer.send(port, 0, new Uint8Array(160));
    const named = { expectedAddress: ELSEWHERE, refusedAddresses: ['127.0.0.1'], unreadablePackets: 0 };
    await expectSoon(clock, () => unheard(report())).toEqual(named);
    leg.command({ do: 'close' });
    expect(report().at(-1)).toMatchObject({ stats: { packetsReceived: 0, unheard: named } });
    expect(logged.at(-1)).toContain(`expected ${ELSEWHERE}, refused packets came from 127.0.0.1`);
  });

  it.each([
    ['cannot be decrypted', { srtp: SRTP }, 0, new Uint8Array(160)],
    ['has a payload type that was not negotiated', {}, 77, new Uint8Array(160)],
    [
      'cannot be decrypted, of a peer behind NAT that named a private address',
      { srtp: SRTP, address: '10.0.0.9' },
      0,
      new Uint8Array(160),
    ],
  ] as const)('counts a packet that %s', async (_why, described, payloadType, payload) => {
    const { clock, peer, leg, port, report, logged } = await open();
    leg.command({ do: 'setRemote', remote: { ...peer.remote, ...described } });
    await clock.advance(3_100);
    peer.send(port, payloadType, payload);
    await expectSoon(clock, () => unheard(report())?.unreadablePackets).toBe(1);
    expect(logged.at(-1)).toContain('unreadable packets: 1');
    expect(logged.at(-1)).not.toContain('no packet came');
  });

  it('counts no unreadable packet of an unrelated address', async () => {
    const { clock, peer, leg, port, report } = await open();
    leg.command({ do: 'setRemote', remote: { ...peer.remote, address: ELSEWHERE } });
    await clock.advance(3_100);
    peer.send(port, 77, new Uint8Array(160));
    peer.send(port, 0, new Uint8Array(160));
    await expectSoon(clock, () => unheard(report())?.refusedAddresses).toEqual(['127.0.0.1']);
    expect(unheard(report())?.unreadablePackets).toBe(0);
  });

  it('names no source that is accepted after its first packets', async () => {
    const { clock, peer, leg, port, report, logged } = await open();
    // A private address: the peer is behind NAT, and sends from another one.
    leg.command({ do: 'setRemote', remote: { ...peer.remote, address: '10.0.0.9' } });
    await clock.advance(3_100);
    await expectSoon(clock, () => {
      const isConnected = report().some((event) => event.type === 'connected');
      if (!isConnected) peer.send(port, 0, new Uint8Array(160));
      return isConnected;
    }).toBe(true);
    expect(logged).toEqual(['nothing heard on a phone leg for 3 s: expected 10.0.0.9, no packet came']);
  });

  it('is made 8 times at most, however often the peer changes its address', async () => {
    const { clock, peer, leg, logged } = await open();
    for (let host = 1; host <= 12; host++) {
      leg.command({ do: 'setRemote', remote: { ...peer.remote, address: `203.0.113.${host}` } });
      await clock.advance(3_100);
    }
    expect(logged).toHaveLength(8);
  });

  it('names what came to the latest address only', async () => {
    const { clock, peer, leg, port, report } = await open();
    leg.command({ do: 'setRemote', remote: { ...peer.remote, address: ELSEWHERE } });
    await clock.advance(3_100);
    peer.send(port, 0, new Uint8Array(160));
    await expectSoon(clock, () => unheard(report())?.refusedAddresses).toEqual(['127.0.0.1']);
    leg.command({ do: 'setRemote', remote: { ...peer.remote, address: '203.0.113.10' } });
    await clock.advance(3_100);
    expect(unheard(report())).toMatchObject({ expectedAddress: '203.0.113.10', refusedAddresses: [] });
  });

  it('names no address of a media relay, except in the log', async () => {
    const { clock, peer, leg, report, logged } = await open();
    leg.command({ do: 'setRemote', remote: { ...peer.remote, address: ELSEWHERE, isRelay: true } });
    await clock.advance(3_100);
    expect(unheard(report())).toMatchObject({ expectedAddress: null, refusedAddresses: [] });
    expect(logged.at(-1)).toContain(`expected ${ELSEWHERE}`);
  });

  it('is withdrawn with the first packet of the peer', async () => {
    const { clock, peer, leg, port, report } = await open();
    await clock.advance(3_100);
    expect(unheard(report())).toBeDefined();
    peer.send(port, 0, new Uint8Array(160));
    await expect.poll(() => report().some((event) => event.type === 'connected')).toBe(true);
    expect(unheard(report())).toBeUndefined();
    expect(report().findLast(({ type }) => type === 'media')).toMatchObject({
      stats: { packetsReceived: 1 },
    });
    leg.command({ do: 'close' });
    expect(report().at(-1)).not.toHaveProperty('stats.unheard');
  });

  it('is made on a peer that an earlier leg heard only if packets are refused', async () => {
    const { clock, peer, leg, port, report, logged } = await open({ wasHeard: true });
    leg.command({ do: 'setRemote', remote: { ...peer.remote, address: ELSEWHERE } });
    await clock.advance(10_000);
    expect([unheard(report()), logged]).toEqual([undefined, []]);
    peer.send(port, 0, new Uint8Array(160));
    await expectSoon(clock, () => unheard(report())?.refusedAddresses).toEqual(['127.0.0.1']);
  });
});

import type { SrvRecord } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { seededRandom } from '#caller/scene.ts';
import { nextHops } from '#telephony/next-hops.ts';
import { dialOutboundCall } from '#telephony/outbound-call.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { SilentMedia } from '#test/fakes/silent-media.ts';
import { type PhoneManner, startSippPhone } from '#test/fakes/sipp-phone.ts';
import { describeNeeds } from '#test/needs.ts';

const server = (name: string, priority = 10, weight = 1, port = 5060): SrvRecord => ({
  name,
  priority,
  weight,
  port,
});

/** Resolves a URI with these DNS records; returns the servers and the lookups made. */
async function hops(
  uri: string,
  records: readonly SrvRecord[],
  random = () => 0.5,
): Promise<{ readonly hops: string[]; readonly asked: string[] }> {
  const asked: string[] = [];
  const lookUpSrv = async (name: string) => {
    asked.push(name);
    if (records.length === 0) throw new Error('ENOTFOUND');
    return records;
  };
  return { hops: await nextHops(uri, { lookUpSrv, random }), asked };
}

describe('RFC 3263 §4.2 the servers of a trunk', () => {
  it('are those its domain lists for the transport, by priority', async () => {
    const records = [server('b.example', 20), server('a.example', 10, 1, 5080)];
    expect(await hops('sip:+14155550123@trunk.example', records)).toEqual({
      hops: ['sip:a.example:5080;transport=udp', 'sip:b.example:5060;transport=udp'],
      asked: ['_sip._udp.trunk.example'],
    });
    expect((await hops('sip:+14155550123@trunk.example;transport=tcp', records)).asked).toEqual([
      '_sip._tcp.trunk.example',
    ]);
  });

  it('RFC 2782 of equal priority are ordered by weight', async () => {
    const random = seededRandom(7);
    const firsts = await Promise.all(
      Array.from(
        { length: 400 },
        async () =>
          (await hops('sip:1@t', [server('often', 1, 3), server('seldom', 1, 1)], random)).hops[0] ?? '',
      ),
    );
    const often = firsts.filter((hop) => hop.includes('often')).length / firsts.length;
    expect(often).toBeGreaterThan(0.65);
    expect(often).toBeLessThan(0.85);
    expect((await hops('sip:1@t', [server('none', 1, 0), server('some', 1, 5)])).hops[0]).toContain('some');
  });

  it.each([
    ['an address', 'sip:1@192.0.2.1'],
    ['an IPv6 address', 'sip:1@[2001:db8::1]'],
    ['a port', 'sip:1@trunk.example:5060'],
    ['TLS, where the certificate is to be the domain’s', 'sip:1@trunk.example;transport=tls'],
    ['sips', 'sips:1@trunk.example'],
  ])('are not looked up where there is %s', async (_, uri) => {
    expect(await hops(uri, [server('a.example')])).toEqual({ hops: [], asked: [] });
  });

  it('are empty where the domain lists none, or declares that there are none', async () => {
    expect((await hops('sip:1@trunk.example', [])).hops).toEqual([]);
    expect((await hops('sip:1@trunk.example', [server('.')])).hops).toEqual([]);
  });
});

describeNeeds(['sipp'])('RFC 3263 §4.3 a call through a trunk of two servers', () => {
  /** Dials through two servers, the first with the higher priority. */
  async function dialThrough(...manners: readonly [PhoneManner, PhoneManner]): Promise<string> {
    const signalling = await startTestSignalling({
      admit: async () => ({ action: 'reject', data: { status: 404, reason: 'Not Found' } }),
    });
    const worker = await connectTestWorker(signalling);
    const phones = await Promise.all(manners.map((manner) => startSippPhone(manner)));
    try {
      const records = phones.map(({ address }, index) =>
        server('127.0.0.1', index, 1, Number(address.split(':')[1])),
      );
      const call = await dialOutboundCall(
        {
          clock: systemClock,
          media: new SilentMedia(systemClock),
          signalling: worker,
          lookUpSrv: async () => records,
          ...AT,
        },
        {
          toUri: 'sip:+14155550123@trunk.example',
          fromNumber: '+15550100',
          headers: { 'X-Service-Session-Id': 's1' },
          ...PLAIN,
        },
        new AbortController().signal,
      );
      if (call.outcome === 'answered') call.leg.send({ do: 'close' });
      for (const { ended } of phones.slice(0, call.outcome === 'answered' ? 2 : 1))
        expect((await ended).code).toBe(0);
      return call.outcome;
    } finally {
      for (const phone of phones) phone.giveUp();
      worker.close();
      await signalling.close();
    }
  }
  const AT = { sipHost: '127.0.0.1', sipPublicIp: undefined, random: () => 0.5 };
  const PLAIN = { credentials: { username: 'parley', password: 'secret' }, recording: null, ringMs: 20_000 };

  it('falls back to the second where the first takes no calls, including digest authentication', async () => {
    expect(await dialThrough({ does: 'refuse', status: 503 }, { does: 'answer', digest: 407 })).toBe(
      'answered',
    );
  });

  it('ends at the first server that gives an answer', async () => {
    expect(await dialThrough({ does: 'refuse', status: 486 }, { does: 'answer' })).toBe('busy');
  });
});

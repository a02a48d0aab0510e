/** Hosts of phone calls named by a tenant: dialled at the address that was checked, or not at all. */
import type { SrvRecord } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import type { Core } from '#telephony/embedded/core.ts';
import { dialogPeer } from '#telephony/embedded/core.ts';
import type { Dialog } from '#telephony/embedded/dialog.ts';
import { guardMedia } from '#telephony/media-guard.ts';
import { dialOutboundCall } from '#telephony/outbound-call.ts';
import { checkTenantHost, tenantHops } from '#telephony/tenant-hosts.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { SilentMedia } from '#test/fakes/silent-media.ts';
import { startSippPhone } from '#test/fakes/sipp-phone.ts';
import { itNeeds } from '#test/needs.ts';

const NAMES: Readonly<Record<string, string[]>> = {
  'pbx.example': ['2606:4700::7', '203.0.114.7'],
  'trunk.example': ['203.0.114.9', '2606:4700::9'],
  'tcp.trunk.example': ['203.0.114.11'],
  ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((n) => [`g${n}.trunk.example`, [`203.0.114.${20 + n}`]])),
  'gateway.trunk.example': ['203.0.114.10'],
  'alias.example': ['203.0.114.9'],
  'inside.example': ['10.0.0.5'],
  'mixed.example': ['203.0.114.7', '10.0.0.5'],
  localhost: ['127.0.0.1'],
};
const SRV: Readonly<Record<string, readonly SrvRecord[]>> = {
  '_sip._udp.domain.example': [{ name: 'pbx.example', port: 5_080, priority: 1, weight: 1 }],
  '_sip._udp.to-inside.example': [{ name: 'inside.example', port: 5_060, priority: 1, weight: 1 }],
  '_sip._udp.to-trunk.example': [{ name: 'alias.example', port: 5_060, priority: 1, weight: 1 }],
  '_sip._udp.trunk.example': [
    { name: 'gateway.trunk.example', port: 5_060, priority: 1, weight: 1 },
    ...[1, 2, 3, 4, 5, 6].map((n) => ({
      name: `g${n}.trunk.example`,
      port: 5_060,
      priority: 1 + n,
      weight: 1,
    })),
  ],
  '_sip._tcp.trunk.example': [{ name: 'tcp.trunk.example', port: 5_060, priority: 1, weight: 1 }],
};

function guardOf(allow: readonly string[] = [], names = NAMES) {
  return createEgressGuard({ allow, clock: systemClock, resolve: async (host) => names[host] ?? [] });
}

function deps(trunk = 'trunk.example', allow: readonly string[] = []) {
  const lookUpSrv = async (name: string) => SRV[name] ?? [];
  return {
    egress: guardOf(allow),
    trunk,
    trusted: ['127.0.0.0/8', '203.0.115.0/24'],
    lookUpSrv,
    random: () => 0.5,
  };
}

const hops = (uri: string, of = deps()) => tenantHops(uri, false, of);

describe('a host named by a tenant', () => {
  it.each([
    ['sip:desk@pbx.example', ['sip:203.0.114.7:5060;transport=udp']],
    ['sip:desk@pbx.example:5070;transport=tcp', ['sip:203.0.114.7:5070;transport=tcp']],
    ['sips:desk@pbx.example', ['sip:203.0.114.7:5061;transport=tls;tls-name=pbx.example']],
    ['sip:desk@domain.example', ['sip:203.0.114.7:5080;transport=udp']],
    ['sip:desk@198.18.1.1', 'The host is not a public address'],
  ])('security 12: is dialled at the checked address: %s', async (uri, expected) => {
    if (typeof expected === 'string') await expect(hops(uri)).rejects.toThrow(expected);
    else expect(await hops(uri)).toEqual(expected);
  });

  it.each([
    '127.0.0.1:15999',
    '10.1.2.3',
    '169.254.169.254',
    '[::1]:5060',
    'inside.example',
    'mixed.example',
    'localhost',
    'to-inside.example',
  ])('security 12: is not dialled if it is not public: %s', async (host) => {
    await expect(hops(`sip:desk@${host}`)).rejects.toThrow('The host is not a public address');
  });

  it('security 12: is dialled if EGRESS_ALLOW permits it', async () => {
    expect(await hops('sip:desk@127.0.0.1:15999', deps('', ['127.0.0.1']))).toEqual([
      'sip:127.0.0.1:15999;transport=udp',
    ]);
    expect(await hops('sip:desk@inside.example', deps('', ['inside.example']))).toEqual([
      'sip:10.0.0.5:5060;transport=udp',
    ]);
  });

  it.each([
    ['is its name', 'trunk.example'],
    ['is its name in other letters', 'TRUNK.example.:5080'],
    ['resolves to it', 'alias.example'],
    ['is its address', '203.0.114.9:5070'],
    ['is a server its domain names', 'gateway.trunk.example'],
    ['has a domain that names it', 'to-trunk.example'],
    ['is its address, spelt otherwise', '[2606:4700:0:0::9]'],
    ['is its name over TCP', 'trunk.example;transport=tcp'],
    ['is a server its domain names for TCP', 'tcp.trunk.example'],
    ['is the sixth server its domain names', 'g6.trunk.example'],
    ['is where its calls come from', '203.0.115.7'],
  ])('security 4: is not dialled where it %s: the operator’s trunk', async (_, host) => {
    await expect(hops(`sip:+5352001234@${host}`)).rejects.toThrow("The host is the operator's own trunk");
  });

  it('security 4: may share the operator’s carrier on another trunk that EGRESS_ALLOW names', async () => {
    expect(await hops('sip:1@alias.example', deps('trunk.example', ['alias.example']))).toEqual([
      'sip:203.0.114.9:5060;transport=udp',
    ]);
    const shared = deps('trunk.example', [
      'trunk.example',
      'gateway.trunk.example',
      ...[1, 2, 3].map((n) => `g${n}.trunk.example`),
    ]);
    expect(await hops('sip:1@trunk.example', shared)).toHaveLength(4);
  });

  it('security 4: is distinguished by its port from an operator’s trunk on the same machine', async () => {
    const own = deps('127.0.0.1:5070', ['127.0.0.1']);
    expect(await hops('sip:1@127.0.0.1:5080', own)).toEqual(['sip:127.0.0.1:5080;transport=udp']);
    for (const same of ['127.0.0.1:5070', 'localhost:5070'])
      await expect(hops(`sip:1@${same}`, own)).rejects.toThrow('operator');
  });

  it('is stored while it does not resolve yet, and refused when it is dialled', async () => {
    await checkTenantHost('sip:nowhere.example', deps());
    await expect(hops('sip:nowhere.example')).rejects.toThrow('The host does not resolve');
    await expect(checkTenantHost('sip:10.0.0.1', deps())).rejects.toThrow('not a public address');
    await expect(checkTenantHost('sip:alias.example', deps())).rejects.toThrow('operator');
  });

  itNeeds(['sipp'])(
    'security 12: is resolved once: what its name says later changes nothing of the call',
    async () => {
      const signalling = await startTestSignalling({
        admit: async () => ({ action: 'reject', data: { status: 404, reason: 'Not Found' } }),
      });
      const worker = await connectTestWorker(signalling);
      const phone = await startSippPhone({ does: 'answer' });
      const port = phone.address.split(':')[1];
      const asked: string[] = [];
      const answers = [['127.0.0.1'], ['192.0.2.1']];
      const egress = createEgressGuard({
        allow: ['127.0.0.1'],
        clock: systemClock,
        resolve: async (host) => {
          asked.push(host);
          return answers.shift() ?? [];
        },
      });
      try {
        const call = await dialOutboundCall(
          {
            clock: systemClock,
            media: new SilentMedia(systemClock),
            signalling: worker,
            sipHost: '127.0.0.1',
            sipPublicIp: undefined,
            random: () => 0.5,
            egress,
          },
          {
            toUri: `sip:+4930123456@pbx.example:${port}`,
            fromNumber: '+15550100',
            headers: { 'X-Service-Session-Id': 's1' },
            credentials: null,
            recording: null,
            ringMs: 20_000,
            guard: { trunk: '', trusted: [] },
          },
          new AbortController().signal,
        );
        expect([call.outcome, asked]).toEqual(['answered', ['pbx.example']]);
        if (call.outcome === 'answered') call.leg.send({ do: 'close' });
        expect((await phone.ended).code).toBe(0);
      } finally {
        phone.giveUp();
        worker.close();
        await signalling.close();
      }
    },
  );

  it('security 12: is not dialled without an egress guard', async () => {
    const signalling = { dial: () => expect.unreachable() };
    const call = await dialOutboundCall(
      {
        clock: systemClock,
        media: new SilentMedia(systemClock),
        signalling,
        sipHost: '127.0.0.1',
        sipPublicIp: undefined,
        random: () => 0.5,
      },
      {
        toUri: 'sip:1@127.0.0.1',
        fromNumber: '+15550100',
        headers: {},
        credentials: null,
        recording: null,
        ringMs: 20_000,
        guard: { trunk: '', trusted: [] },
      },
      new AbortController().signal,
    );
    expect(call.outcome).toBe('failed');
  });
});

describe('the audio of a tenant’s trunk', () => {
  const remote = (address: string) =>
    ({ address, port: 4_000, codec: 'PCMU', payloadType: 0, digitPayloadType: null, sending: true }) as const;
  const guard = guardMedia(guardOf(['10.9.0.0/16']), '127.0.0.1');

  it.each(['10.0.0.5', '127.0.0.2', '169.254.169.254', '::1'])(
    'security 12: is not sent to %s before a packet has arrived from there',
    (address) => {
      expect(guard(remote(address))).toEqual({ ...remote(address), isHeardFirst: true });
    },
  );

  it.each(['203.0.114.7', '10.9.1.1', '127.0.0.1'])(
    'goes at once to public, allowed and signalling addresses: %s',
    (address) => {
      expect(guard(remote(address))).toEqual(remote(address));
    },
  );
});

describe('a request inside a dialog', () => {
  const dialog = (peerAddress: string, target: string, routes: string[] = []) =>
    ({ target, routes, peer: { transport: 'udp', address: peerAddress, port: 5_060 } }) as unknown as Dialog;
  const sentTo = (of: Dialog) => dialogPeer({ tlsPort: null } as Core, of).address;

  it('security 12: goes to a public peer’s last source if the address it names is not public', () => {
    expect(sentTo(dialog('203.0.114.7', 'sip:desk@10.0.0.5:22'))).toBe('203.0.114.7');
    expect(sentTo(dialog('203.0.114.7', 'sip:desk@203.0.114.8', ['<sip:127.0.0.1:6379;lr>']))).toBe(
      '203.0.114.7',
    );
  });

  describe('of a caller over TLS', () => {
    const peer = { transport: 'tls', address: '203.0.114.7', port: 51_830 } as const;
    const call = (address: string, route: string) =>
      ({ ...dialog(address, 'sip:u@x', [route]), isServer: true, peer: { ...peer, address } }) as Dialog;
    const sentTo = (of: Dialog, isConnected: boolean) =>
      dialogPeer({ tlsPort: 5_061, isConnected: () => isConnected } as unknown as Core, of);
    const ROUTE = '<sip:edge.example;transport=tls;lr>';

    it('goes over the connection that the caller has opened', () => {
      expect(sentTo(call('203.0.114.7', ROUTE), true)).toEqual(peer);
    });

    it('goes to the name of its route once that connection is gone', () => {
      const edge = { transport: 'tls', address: 'edge.example', port: 5_061 };
      expect(sentTo(call('203.0.114.7', ROUTE), false)).toMatchObject(edge);
    });

    it('security 12: goes to no private address by that name, unless the caller has one', () => {
      expect(sentTo(call('203.0.114.7', ROUTE), false).mustBePublic).toBe(true);
      expect(sentTo(call('10.0.0.1', ROUTE), false).mustBePublic).toBe(false);
    });

    it('does not go to a name without TLS, which nothing proves', () => {
      expect(sentTo(call('203.0.114.7', '<sip:edge.example;transport=tcp;lr>'), false)).toEqual(peer);
    });

    it('security 12: is proven by no other name than that of its route', () => {
      const route = '<sip:edge.example;transport=tls;tls-name=other.example;lr>';
      expect(sentTo(call('203.0.114.7', route), false).name).toBeUndefined();
    });

    it('security 14: does not go to a name that no socket takes', () => {
      expect(sentTo(call('203.0.114.7', '<sip:edge\0.example;transport=tls;lr>'), false)).toEqual(peer);
    });

    it('is not sent without TLS to the Contact of a call over TLS', () => {
      const to = (target: string) => ({ ...call('203.0.114.7', ''), routes: [], target });
      expect(sentTo(to('sip:u@203.0.114.8'), false)).toEqual(peer);
      expect(sentTo(to('sip:u@203.0.114.8;transport=tls'), false).address).toBe('203.0.114.8');
    });
  });

  it('goes to the address it names within one network and on the public internet', () => {
    expect(sentTo(dialog('10.0.0.1', 'sip:desk@10.0.0.5'))).toBe('10.0.0.5');
    expect(sentTo(dialog('203.0.114.7', 'sip:desk@203.0.114.8'))).toBe('203.0.114.8');
  });
});

/** The servers of a registrar, by NAPTR, SRV and address records (RFC 3263). */
import type { NaptrRecord, SrvRecord } from 'node:dns';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { registrarHops } from '#telephony/registration/registrar-hops.ts';

const ADDRESSES: Readonly<Record<string, string[]>> = {
  'a.pbx.example': ['203.0.114.1'],
  'b.pbx.example': ['203.0.114.2'],
  'pbx.example': ['203.0.114.3'],
  'plain.example': ['203.0.114.4'],
  'tcp.example': ['203.0.114.5'],
  'inside.example': ['10.0.0.5'],
};
const srv = (name: string, priority: number): SrvRecord => ({ name, port: 5_070, priority, weight: 1 });
const SRV: Readonly<Record<string, SrvRecord[]>> = {
  '_sip._udp.pbx.example': [srv('b.pbx.example', 20), srv('a.pbx.example', 10)],
  '_sip._tcp.pbx.example': [srv('a.pbx.example', 10)],
  '_sip._tcp.tcp.example': [srv('a.pbx.example', 10)],
};
const naptr = (service: string, order: number): NaptrRecord => ({
  flags: 's',
  service,
  regexp: '',
  replacement: '',
  order,
  preference: 1,
});
const NAPTR: Readonly<Record<string, NaptrRecord[]>> = {
  'pbx.example': [naptr('SIP+D2U', 50), naptr('SIP+D2T', 20), naptr('E2U+sip', 10)],
};

const found = (table: Readonly<Record<string, unknown[]>>) => async (name: string) => {
  const records = table[name];
  if (!records) throw new Error('ENOTFOUND');
  return records as never;
};

function hops(host: string, transport: 'auto' | 'udp' | 'tcp' | 'tls' = 'auto') {
  const resolve = async (name: string) => ADDRESSES[name] ?? [];
  return registrarHops(
    { host, transport },
    {
      egress: createEgressGuard({ allow: [], clock: systemClock, resolve }),
      trunk: '',
      trusted: [],
      lookUpSrv: found(SRV),
      lookUpNaptr: found(NAPTR),
      isIpv6: false,
      random: () => 0.5,
    },
  );
}

describe('the servers of a registrar', () => {
  it('are those of its NAPTR records, then of the SRV records of each transport, in order', async () => {
    expect((await hops('pbx.example')).map(({ uri }) => uri)).toEqual([
      'sip:203.0.114.1:5070;transport=tcp',
      'sip:203.0.114.1:5070;transport=udp',
      'sip:203.0.114.2:5070;transport=udp',
    ]);
  });

  it.each([
    ['plain.example', 'sip:203.0.114.4:5060;transport=udp'],
    ['tcp.example', 'sip:203.0.114.1:5070;transport=tcp'],
    ['pbx.example:5080', 'sip:203.0.114.3:5080;transport=udp'],
    ['203.0.114.9', 'sip:203.0.114.9:5060;transport=udp'],
  ])('of %s without NAPTR records is %s', async (host, uri) => {
    expect((await hops(host)).map((hop) => hop.uri)).toEqual([uri]);
  });

  it('over TLS must have a certificate for the name that was given', async () => {
    expect(await hops('plain.example', 'tls')).toEqual([
      {
        uri: 'sip:203.0.114.4:5061;transport=tls;tls-name=plain.example',
        address: '203.0.114.4',
        transport: 'tls',
      },
    ]);
  });

  it('security 12: must be ones that tenants may have called', async () => {
    await expect(hops('inside.example')).rejects.toThrow('not a public address');
  });
});

/**
 * The servers of a registrar in the order to try them (RFC 3263 §4): by NAPTR and SRV records of its domain,
 * or its address. They are hosts that tenants name, with all rules for those.
 */
import { promises as dns, type NaptrRecord } from 'node:dns';
import { isIP } from 'node:net';
import type { LookUpSrv } from '../next-hops.ts';
import { readSipUri } from '../sip-address.ts';
import { type TenantHostDeps, tenantHops } from '../tenant-hosts.ts';

/** Queries the NAPTR records of a name; rejects if there are none. */
export type LookUpNaptr = (name: string) => Promise<readonly NaptrRecord[]>;

export type SipTransport = 'udp' | 'tcp' | 'tls';

/** Where requests go first: the outbound proxy, or else the registrar. */
export interface RegistrarPlace {
  /** `host` or `host:port`. */
  readonly host: string;
  readonly transport: SipTransport | 'auto';
}

/** One server to try. */
export interface RegistrarHop {
  readonly uri: string;
  readonly address: string;
  readonly transport: SipTransport;
}

const ANSWER_MS = 1_000;
const TRIES = 2;
const MAX_HOPS = 4;
const SERVICES: Readonly<Record<string, SipTransport>> = {
  'SIP+D2U': 'udp',
  'SIP+D2T': 'tcp',
  'SIPS+D2T': 'tls',
};

/** Queries the resolvers of this machine. */
export function createNaptrLookUp(): LookUpNaptr {
  const resolver = new dns.Resolver({ timeout: ANSWER_MS, tries: TRIES });
  return (name) => resolver.resolveNaptr(name);
}

/** The servers to try, at most four. Throws `EgressRefused` if none may be called from here. */
export async function registrarHops(
  { host, transport }: RegistrarPlace,
  deps: TenantHostDeps & { readonly isIpv6: boolean; readonly lookUpNaptr: LookUpNaptr },
): Promise<RegistrarHop[]> {
  const transports = transport === 'auto' ? await transportsOf(host, deps) : [transport];
  const hops: RegistrarHop[] = [];
  for (const each of transports) {
    if (hops.length >= MAX_HOPS) break;
    for (const uri of await tenantHops(`sip:${host};transport=${each}`, deps.isIpv6, deps))
      hops.push({ uri, address: readSipUri(uri)?.host ?? '', transport: each });
  }
  return hops.slice(0, MAX_HOPS);
}

/**
 * The transports that a domain offers, best first: those of its NAPTR records, or else those with SRV
 * records, or else UDP.
 */
async function transportsOf(
  host: string,
  {
    lookUpNaptr,
    lookUpSrv,
  }: { readonly lookUpNaptr: LookUpNaptr; readonly lookUpSrv?: LookUpSrv | undefined },
): Promise<SipTransport[]> {
  const place = readSipUri(`sip:${host}`);
  if (!place || place.port !== null || isIP(place.host) !== 0) return ['udp'];
  const records = await lookUpNaptr(place.host).catch(() => []);
  const named = [...records]
    .sort((a, b) => a.order - b.order || a.preference - b.preference)
    .flatMap(({ service }) => SERVICES[service.toUpperCase()] ?? []);
  if (named.length > 0) return [...new Set(named)];
  const has = async (name: string) => ((await lookUpSrv?.(name).catch(() => [])) ?? []).length > 0;
  const [udp, tcp] = await Promise.all([has(`_sip._udp.${place.host}`), has(`_sip._tcp.${place.host}`)]);
  return tcp && !udp ? ['tcp'] : ['udp'];
}

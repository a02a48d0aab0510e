/**
 * The servers of a trunk: those its domain names for SIP (RFC 3263 §4, RFC 2782), in the order to try them.
 */
import { promises as dns, type SrvRecord } from 'node:dns';
import { isIP } from 'node:net';

/** Queries the SRV records of a name; rejects if there are none. */
export type LookUpSrv = (name: string) => Promise<readonly SrvRecord[]>;

/** A resolver that does not answer must not prevent a call. */
const ANSWER_MS = 1_000;
const TRIES = 2;
/** Most servers tried for one call. */
const MAX_HOPS = 4;
const SIP_URI = /^sip:(?:[^@]*@)?(?<host>\[[^\]]*\]|[^:;?]+)(?<port>:\d+)?(?<parameters>(?:;[^?]*)?)/i;

/** Queries the resolvers of this machine. */
export function createSrvLookUp(): LookUpSrv {
  const resolver = new dns.Resolver({ timeout: ANSWER_MS, tries: TRIES });
  return (name) => resolver.resolveSrv(name);
}

/**
 * The servers behind a SIP URI, as URIs. Empty: use the URI itself, because it has an address or a port, or
 * its domain names no servers. TLS URIs too are used as they are: a server found by DNS could present a
 * certificate for its own name, which proves nothing.
 */
export async function nextHops(
  uri: string,
  deps: { readonly lookUpSrv: LookUpSrv; readonly random: () => number },
): Promise<string[]> {
  const { host = '', port, parameters = '' } = SIP_URI.exec(uri)?.groups ?? {};
  const transport = /;transport=(\w+)/i.exec(parameters)?.[1]?.toLowerCase() ?? 'udp';
  if (port !== undefined || host === '' || host.startsWith('[') || isIP(host) !== 0 || transport === 'tls')
    return [];
  const records = await deps.lookUpSrv(`_sip._${transport}.${host}`).catch(() => []);
  const named = inOrder(records, deps.random).filter(({ name }) => name !== '' && name !== '.');
  return named
    .slice(0, MAX_HOPS)
    .map(({ name, port: itsPort }) => `sip:${name}:${itsPort};transport=${transport}`);
}

/** Sorts by priority; within one priority randomly, in proportion to weight. */
function inOrder(records: readonly SrvRecord[], random: () => number): SrvRecord[] {
  // The largest of `chance ^ (1 / weight)` comes first in proportion to its weight (Efraimidis and Spirakis);
  // weight zero hardly ever does.
  const drawn = records.map((record) => ({ record, lot: random() ** (1 / Math.max(record.weight, 0.001)) }));
  return drawn
    .sort((a, b) => a.record.priority - b.record.priority || b.lot - a.lot)
    .map(({ record }) => record);
}

/**
 * Where a trunk's calls are sent: the servers its domain names for SIP (RFC 3263 §4, RFC 2782), in the order
 * to try them.
 */
import { promises as dns, type SrvRecord } from 'node:dns';
import { isIP } from 'node:net';

/** Asks for the SRV records of a name; rejects where there are none. */
export type LookUpSrv = (name: string) => Promise<readonly SrvRecord[]>;

/** Resolvers that do not answer must not keep a call from being dialled. */
const ANSWER_MS = 1_000;
const TRIES = 2;
/** More servers than this are not tried for one call. */
const MOST_HOPS = 4;
const SIP_URI = /^sip:(?:[^@]*@)?(?<host>\[[^\]]*\]|[^:;?]+)(?<port>:\d+)?(?<parameters>(?:;[^?]*)?)/i;

/** Asks the resolvers of this machine. */
export function createSrvLookUp(): LookUpSrv {
  const resolver = new dns.Resolver({ timeout: ANSWER_MS, tries: TRIES });
  return (name) => resolver.resolveSrv(name);
}

/**
 * The servers behind a SIP URI, as URIs. Empty: it is sent where it says itself, which is so with an address,
 * with a port, and where the domain names no servers. So it is over TLS too: what a domain's records name
 * could show a certificate of its own, and would not be who was meant.
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
    .slice(0, MOST_HOPS)
    .map(({ name, port: itsPort }) => `sip:${name}:${itsPort};transport=${transport}`);
}

/** By priority; those of one priority by chance, the weightier the sooner. */
function inOrder(records: readonly SrvRecord[], random: () => number): SrvRecord[] {
  // The largest of `chance ^ (1 / weight)` comes first as often as its share of the weights (Efraimidis and
  // Spirakis); one without weight nearly never.
  const drawn = records.map((record) => ({ record, lot: random() ** (1 / Math.max(record.weight, 0.001)) }));
  return drawn
    .sort((a, b) => a.record.priority - b.record.priority || b.lot - a.lot)
    .map(({ record }) => record);
}

/**
 * Hosts that tenants name for phone calls: the trunk of an imported number, the SIP target of a transfer.
 * They pass the egress guard as URLs do. Each server behind a name is resolved once and dialled at the
 * checked address. None may be the operator's own trunk, which would carry a stranger's calls at the
 * operator's cost.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type EgressGuard, EgressRefused } from '#base/egress.ts';
import { hostPort, isPublicAddress, parseAllowList } from '#base/public-address.ts';
import { type LookUpSrv, nextHops } from './next-hops.ts';
import { portOf, readSipUri } from './sip-address.ts';

/** What the check needs. */
export interface TenantHostDeps {
  readonly egress: Pick<EgressGuard, 'addressesOf' | 'resolve' | 'isNamed'>;
  /** `SIP_TRUNK_URI`, `host[:port][;transport=…]`; empty if unset. */
  readonly trunk: string;
  /** `SIP_TRUSTED`: the addresses of the operator's carriers. */
  readonly trusted: readonly string[];
  /** If absent, a name stands only for its own addresses. */
  readonly lookUpSrv?: LookUpSrv | undefined;
  readonly random: () => number;
}

/** A server that a host name stands for. */
interface Place {
  readonly host: string;
  readonly port: number;
  readonly transport: string;
  readonly addresses: readonly string[];
}

/**
 * The servers behind a SIP URI that a tenant has named, in the order to try them, by address. Throws
 * `EgressRefused`.
 */
export async function tenantHops(uri: string, isIpv6: boolean, deps: TenantHostDeps): Promise<string[]> {
  const places = await checkedPlaces(uri, deps, (host, port) => deps.egress.addressesOf(host, port));
  return places.map(({ host, port, transport, addresses }) => {
    const address = addresses.find((each) => isIP(each) === (isIpv6 ? 6 : 4)) ?? addresses[0] ?? host;
    // Over TLS the server must present a certificate for the name given.
    const name = transport === 'tls' && isIP(host) === 0 ? `;tls-name=${host}` : '';
    return `sip:${hostPort(address, port)};transport=${transport}${name}`;
  });
}

/**
 * The same check for an address to be stored. A name that does not resolve yet passes: it is checked again
 * when it is dialled. Throws `EgressRefused`.
 */
export async function checkTenantHost(uri: string, deps: TenantHostDeps): Promise<void> {
  await checkedPlaces(uri, deps, (host, port) =>
    deps.egress.addressesOf(host, port).catch((error: unknown) => {
      if (error instanceof EgressRefused && error.reason === 'unresolvable') return [];
      throw error;
    }),
  );
}

type AddressesOf = (host: string, port: number) => Promise<readonly string[]>;

/** The servers to dial, if neither they nor the named host belong to the trunk. */
async function checkedPlaces(uri: string, deps: TenantHostDeps, addressesOf: AddressesOf): Promise<Place[]> {
  const { lookUpSrv, random, egress } = deps;
  const hops = lookUpSrv ? await nextHops(uri, { lookUpSrv, random }) : [];
  const [places, named, trunk] = await Promise.all([
    Promise.all((hops.length > 0 ? hops : [uri]).map((hop) => placeOf(hop, addressesOf))),
    hops.length > 0 ? placeOf(uri, unchecked(egress)) : null,
    trunkPlaces(deps),
  ]);
  for (const place of named ? [named, ...places] : places) refuseTrunk(place, trunk, deps);
  return places;
}

async function placeOf(uri: string, addressesOf: AddressesOf): Promise<Place> {
  const address = readSipUri(uri);
  if (!address) throw new EgressRefused('malformed', 'The SIP address is malformed');
  const port = portOf(address);
  return {
    host: plain(address.host),
    port,
    transport: address.transport,
    addresses: (await addressesOf(address.host, port)).map(plain),
  };
}

function unchecked(egress: TenantHostDeps['egress']): AddressesOf {
  return (host) => egress.resolve(host).catch(() => []);
}

/** One spelling per address: IPv6 has many. */
function plain(host: string): string {
  return isIP(host) === 0 ? host : ipaddr.process(host).toString();
}

/** The servers of the operator's trunk: the trunk itself, and those its domain names for any transport. */
async function trunkPlaces({ trunk, egress, lookUpSrv }: TenantHostDeps): Promise<Place[]> {
  if (trunk === '') return [];
  const own = await placeOf(`sip:${trunk}`, unchecked(egress));
  const services = lookUpSrv && isIP(own.host) === 0 ? ['_sip._udp', '_sip._tcp', '_sips._tcp'] : [];
  const records = (
    await Promise.all(services.map((service) => lookUpSrv?.(`${service}.${own.host}`).catch(() => []) ?? []))
  ).flat();
  const behind = await Promise.all(
    records.map(({ name, port }) => placeOf(`sip:${name}:${port}`, unchecked(egress)).catch(() => null)),
  );
  return [own, ...behind.filter((place) => place !== null)];
}

function refuseTrunk(place: Place, trunk: readonly Place[], { egress, trusted }: TenantHostDeps): void {
  // An operator whose tenants have trunks at the same carrier lists the hosts.
  if (egress.isNamed(place.host, place.port)) return;
  const isCarriers = parseAllowList(trusted);
  const isTrunk =
    trunk.some(
      (each) =>
        (each.host === place.host || each.addresses.some((address) => place.addresses.includes(address))) &&
        !isOtherProgram(place, each),
    ) || place.addresses.some((address) => isPublicAddress(address) && isCarriers.allowsAddress(address, 0));
  if (isTrunk) throw new EgressRefused('operators_trunk', "The host is the operator's own trunk");
}

/** On this machine another port is another program; at a carrier every port leads to the carrier. */
function isOtherProgram(place: Place, trunk: Place): boolean {
  return place.port !== trunk.port && place.addresses.length > 0 && !place.addresses.some(isPublicAddress);
}

/**
 * Hosts that a tenant has named for phone calls: an imported number's trunk, the SIP address of a transfer.
 * They pass the egress guard as URLs do, each server behind a name is resolved once and dialled by the
 * address that was checked, and none of them is the operator's own trunk, which would carry a stranger's
 * calls at the operator's cost.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type EgressGuard, EgressRefused } from '#base/egress.ts';
import { hostPort, isPublicAddress, parseAllowList } from '#base/public-address.ts';
import { type LookUpSrv, nextHops } from './next-hops.ts';
import { portOf, readSipUri } from './sip-address.ts';

/** What checking needs. */
export interface TenantHostDeps {
  readonly egress: Pick<EgressGuard, 'addressesOf' | 'resolve' | 'isNamed'>;
  /** `SIP_TRUNK_URI`, `host[:port][;transport=…]`; empty where there is none. */
  readonly trunk: string;
  /** `SIP_TRUSTED`: where the operator's carriers call from. */
  readonly trusted: readonly string[];
  /** Without it a name stands for its own addresses only. */
  readonly lookUpSrv?: LookUpSrv | undefined;
  readonly random: () => number;
}

/** One server that may be dialled, or must not be. */
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
    // Whoever answers over TLS must still be who was meant.
    const name = transport === 'tls' && isIP(host) === 0 ? `;tls-name=${host}` : '';
    return `sip:${hostPort(address, port)};transport=${transport}${name}`;
  });
}

/**
 * The same check for an address that is only kept: a name that does not resolve yet may do so when it is
 * dialled, and is checked then. Throws `EgressRefused`.
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

/** The servers to dial, once neither they nor the host that was named are the trunk's. */
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

/** One spelling for each address, IPv6 has many. */
function plain(host: string): string {
  return isIP(host) === 0 ? host : ipaddr.process(host).toString();
}

/** The trunk by its own name, and by every server its domain names for any transport. */
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
  // An operator whose tenants have trunks at the same carrier names their hosts.
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

/** On a machine of one's own another port is another program; a carrier's ports all lead to the carrier. */
function isOtherProgram(place: Place, trunk: Place): boolean {
  return place.port !== trunk.port && place.addresses.length > 0 && !place.addresses.some(isPublicAddress);
}

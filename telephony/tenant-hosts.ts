/**
 * Hosts that a tenant has named for phone calls: an imported number's trunk, the SIP address of a transfer. They pass the egress guard as URLs do, each server behind
 * a name is resolved once and dialled by the address that was checked, and none of them is the operator's own trunk, which would carry a stranger's calls at the operator's cost.
 */
import { isIP } from 'node:net';
import { type EgressGuard, EgressRefused } from '#config/egress.ts';
import { hostPort, isPublicAddress } from '#config/public-address.ts';
import { type LookUpSrv, nextHops } from './next-hops.ts';
import { portOf, readSipUri } from './sip-address.ts';

/** What checking needs. */
export interface TenantHostDeps {
  readonly egress: Pick<EgressGuard, 'addressesOf' | 'resolve' | 'isNamed'>;
  /** `SIP_TRUNK_URI`, `host[:port][;transport=…]`; empty where there is none. */
  readonly trunk: string;
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

/** The servers behind a SIP URI that a tenant has named, in the order to try them, by address. Throws `EgressRefused`. */
export async function tenantHops(uri: string, isIpv6: boolean, deps: TenantHostDeps): Promise<string[]> {
  const { egress } = deps;
  const [places, trunk] = await Promise.all([placesOf(uri, deps, (host, port) => egress.addressesOf(host, port)), trunkPlaces(deps)]);
  for (const place of places) refuseTrunk(place, trunk, egress);
  return places.map(({ host, port, transport, addresses }) => {
    const address = addresses.find((each) => isIP(each) === (isIpv6 ? 6 : 4)) ?? addresses[0] ?? host;
    // Whoever answers over TLS must still be who was meant.
    const name = transport === 'tls' && isIP(host) === 0 ? `;tls-name=${host}` : '';
    return `sip:${hostPort(address, port)};transport=${transport}${name}`;
  });
}

/** The same check for an address that is only kept: a name that does not resolve yet may do so when it is dialled, and is checked then. Throws `EgressRefused`. */
export async function checkTenantHost(uri: string, deps: TenantHostDeps): Promise<void> {
  const { egress } = deps;
  const addressesOf = (host: string, port: number) =>
    egress.addressesOf(host, port).catch((error: unknown) => {
      if (error instanceof EgressRefused && error.reason === 'unresolvable') return [];
      throw error;
    });
  const [places, trunk] = await Promise.all([placesOf(uri, deps, addressesOf), trunkPlaces(deps)]);
  for (const place of places) refuseTrunk(place, trunk, egress);
}

async function placesOf(
  uri: string,
  { lookUpSrv, random }: TenantHostDeps,
  addressesOf: (host: string, port: number) => Promise<readonly string[]>,
): Promise<Place[]> {
  const hops = lookUpSrv ? await nextHops(uri, { lookUpSrv, random }) : [];
  return Promise.all(
    (hops.length > 0 ? hops : [uri]).map(async (hop) => {
      const address = readSipUri(hop);
      if (!address) throw new EgressRefused('malformed', 'The SIP address is malformed');
      const port = portOf(address);
      return { host: address.host, port, transport: address.transport, addresses: await addressesOf(address.host, port) };
    }),
  );
}

/** The trunk by its own name and by the servers its domain names. */
async function trunkPlaces(deps: TenantHostDeps): Promise<Place[]> {
  if (deps.trunk === '') return [];
  const uri = `sip:${deps.trunk}`;
  const addressesOf = (host: string) => deps.egress.resolve(host).catch(() => []);
  const [own, behind] = await Promise.all([placesOf(uri, { ...deps, lookUpSrv: undefined }, addressesOf), placesOf(uri, deps, addressesOf)]);
  return [...own, ...behind];
}

function refuseTrunk(place: Place, trunk: readonly Place[], egress: TenantHostDeps['egress']): void {
  const isTrunk = trunk.some((each) => {
    if (each.host === place.host) return !isOtherProgram(place, each);
    // An operator whose tenants have trunks at the same carrier says so by their names.
    if (egress.isNamed(place.host, place.port)) return false;
    return place.addresses.some((address) => each.addresses.includes(address)) && !isOtherProgram(place, each);
  });
  if (isTrunk) throw new EgressRefused('operators_trunk', "The host is the operator's own trunk");
}

/** On a machine of one's own another port is another program; a carrier's ports all lead to the carrier. */
function isOtherProgram(place: Place, trunk: Place): boolean {
  return place.port !== trunk.port && place.addresses.length > 0 && !place.addresses.some(isPublicAddress);
}

/**
 * Which addresses are public, and which others a deployment allows (`EGRESS_ALLOW`): the decisions of the
 * egress guard, without I/O.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Public by range, but served by a cloud's own infrastructure. */
const CLOUD_INTERNAL = new Set(['168.63.129.16']);

/** Labels of letters, digits, dashes and, as in container networks, underscores. */
const HOST_NAME = /^[\p{L}\p{N}_]([\p{L}\p{N}_.-]*[\p{L}\p{N}_.])?$/u;

/**
 * An entry of `EGRESS_ALLOW`: a name as written, or an address range; with a port it applies only to that
 * port.
 */
interface Allowance {
  readonly host: string;
  readonly range: readonly [ipaddr.IPv4 | ipaddr.IPv6, number] | null;
  readonly port: number | null;
}

/** Whether a destination is allowed although it is not public. */
export interface AllowList {
  allowsName(host: string, port: number): boolean;
  allowsAddress(address: string, port: number): boolean;
}

/**
 * True for an address on the public internet: not private, loopback, link-local, shared, multicast or
 * reserved, nor a mapped or translated form of an address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || CLOUD_INTERNAL.has(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  // The whole public IPv6 internet is in 2000::/3 (RFC 4291 §2.4).
  return parsed.kind() === 'ipv4' || ((parsed as ipaddr.IPv6).parts[0] ?? 0) >> 13 === 1;
}

/** True for an address of this machine itself, including IPv4 written as IPv6. */
export function isLoopback(address: string): boolean {
  return isIP(address) !== 0 && ipaddr.process(address).range() === 'loopback';
}

/** Whether a listener on `host` is reached by every address of its machine. */
export function isAnyHost(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/**
 * Parses `EGRESS_ALLOW`: names, addresses and CIDRs, each with an optional `:port`; IPv6 with a port is in
 * brackets.
 */
export function parseAllowList(entries: readonly string[]): AllowList {
  const allowances = entries.map(parseAllowance);
  return {
    allowsName: (host, port) =>
      allowances.some(
        (entry) => entry.range === null && entry.host === host.toLowerCase() && fits(entry, port),
      ),
    allowsAddress: (address, port) => {
      if (isIP(address) === 0) return false;
      const parsed = ipaddr.process(address);
      return allowances.some(
        (entry) => entry.range !== null && fits(entry, port) && matches(parsed, entry.range),
      );
    },
  };
}

/** True for an entry that `parseAllowList` can use: neither an empty range nor an invalid name. */
export function isAllowListEntry(entry: string): boolean {
  const { host, range, port } = parseAllowance(entry);
  return (
    (range !== null || (HOST_NAME.test(host) && !/^[\d.]+$/.test(host))) && (port === null || isPort(port))
  );
}

/** `host:port`, or the host alone; an IPv6 address is in brackets (RFC 3986 §3.2.2). */
export function hostPort(host: string, port: number | null): string {
  const written = host.includes(':') ? `[${host}]` : host;
  return port === null ? written : `${written}:${port}`;
}

/** True for a valid port number. */
export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

function parseAllowance(entry: string): Allowance {
  const bracketed = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(entry);
  if (bracketed) return allowance(bracketed[1] ?? '', bracketed[2]);
  // A bare IPv6 address or CIDR has several colons and no port.
  const withPort = /^([^:]+):(\d{1,5})$/.exec(entry);
  return withPort ? allowance(withPort[1] ?? '', withPort[2]) : allowance(entry, undefined);
}

function allowance(host: string, port: string | undefined): Allowance {
  return { host: host.toLowerCase(), range: rangeOf(host), port: port === undefined ? null : Number(port) };
}

function rangeOf(host: string): Allowance['range'] {
  if (ipaddr.isValidCIDR(host)) return ipaddr.parseCIDR(host);
  if (isIP(host) === 0) return null;
  const address = ipaddr.process(host);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function fits(entry: Allowance, port: number): boolean {
  return entry.port === null || entry.port === port;
}

function matches(
  address: ipaddr.IPv4 | ipaddr.IPv6,
  range: readonly [ipaddr.IPv4 | ipaddr.IPv6, number],
): boolean {
  return address.kind() === range[0].kind() && address.match(range[0], range[1]);
}

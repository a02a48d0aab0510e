/**
 * Which addresses are public, and which a deployment allows although they are not (`EGRESS_ALLOW`): the
 * decisions behind the egress guard, with no I/O.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Public by range, yet answered by a cloud's own machinery. */
const CLOUD_INTERNAL = new Set(['168.63.129.16']);

/** Labels of letters, digits, dashes and, as container networks have them, underscores. */
const HOST_NAME = /^[\p{L}\p{N}_]([\p{L}\p{N}_.-]*[\p{L}\p{N}_.])?$/u;

/**
 * One entry of `EGRESS_ALLOW`: a name as written, or an address range; with a port it holds for that port
 * only.
 */
interface Allowance {
  readonly host: string;
  readonly range: readonly [ipaddr.IPv4 | ipaddr.IPv6, number] | null;
  readonly port: number | null;
}

/** Answers whether a destination passes although it is not public. */
export interface AllowList {
  allowsName(host: string, port: number): boolean;
  allowsAddress(address: string, port: number): boolean;
}

/**
 * True for an address on the public internet: not private, loopback, link-local, shared, multicast, reserved,
 * nor a mapped or translated form of any address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || CLOUD_INTERNAL.has(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  // Everything assigned to the public IPv6 internet lies in 2000::/3 (RFC 4291 §2.4).
  return parsed.kind() === 'ipv4' || ((parsed as ipaddr.IPv6).parts[0] ?? 0) >> 13 === 1;
}

/** True for an address of this machine itself, also as an IPv4 address is written in IPv6. */
export function isLoopback(address: string): boolean {
  return isIP(address) !== 0 && ipaddr.process(address).range() === 'loopback';
}

/**
 * Reads `EGRESS_ALLOW`: names, addresses and CIDRs, each with an optional `:port`; IPv6 with a port stands in
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

/**
 * True for an entry `parseAllowList` can hold to: neither a range no address is in nor a name no host has.
 */
export function isAllowListEntry(entry: string): boolean {
  const { host, range, port } = parseAllowance(entry);
  return (
    (range !== null || (HOST_NAME.test(host) && !/^[\d.]+$/.test(host))) && (port === null || isPort(port))
  );
}

/** `host:port`, an IPv6 address in brackets (RFC 3986 §3.2.2). */
export function hostPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** True for a port somebody can be reached at. */
export function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

function parseAllowance(entry: string): Allowance {
  const bracketed = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(entry);
  if (bracketed) return allowance(bracketed[1] ?? '', bracketed[2]);
  // A bare IPv6 address or CIDR has more than one colon and no port.
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

/**
 * The bindings of a phone as its registrar keeps them (RFC 3261 §10.3): which a REGISTER adds, renews and
 * removes, and what it is answered. Pure; the state is stored as it is.
 *
 * A phone is called where its REGISTER came from, whatever its Contact says: that address has answered a
 * challenge, and any other might be a stranger's.
 */
import { hostPort } from '#base/public-address.ts';
import { readSipUri } from '../sip-address.ts';
import type { AskedContact, RegisterRequest } from './register-request.ts';

/** One place where a phone can be called. Times are wall times in ms. */
export interface PhoneBinding {
  /** As it was given; calls to it have its Request-URI. */
  readonly contact: string;
  readonly instance: string | null;
  readonly flow: string | null;
  readonly callId: string;
  readonly cseq: number;
  readonly untilMs: number;
  readonly registeredMs: number;
  readonly address: string;
  /** Where calls are sent. */
  readonly nextHop: string;
  readonly transport: 'udp' | 'tcp' | 'tls';
  /** Route headers of calls to it, outermost first (RFC 3327). */
  readonly path: readonly string[];
  /** Name of the SIP server that received the REGISTER: over TCP it alone can call. */
  readonly server: string;
  readonly userAgent: string;
}

/** Where a REGISTER came from. */
export interface RegisterSource {
  readonly address: string;
  readonly port: number;
  readonly transport: 'udp' | 'tcp' | 'tls';
  readonly server: string;
}

/** The outcome of a REGISTER. */
export type Registered =
  | { readonly is: 'done'; readonly bindings: readonly PhoneBinding[]; readonly hasChanged: boolean }
  /** The wanted interval is shorter than any that is granted. */
  | { readonly is: 'too_brief'; readonly minSeconds: number }
  /** A later REGISTER of the same registration has been handled already. */
  | { readonly is: 'out_of_order' };

export const MIN_EXPIRES_SECONDS = 60;
const DEFAULT_EXPIRES_SECONDS = 600;
/** Shorter than a connection may be idle, which a renewal ends. */
const MAX_EXPIRES_SECONDS = 3_600;
/** A NAT forgets a phone that is silent over UDP; its renewals keep the way open (RFC 4787 §4.3: 120 s). */
const MAX_NAT_SECONDS = 90;
/** Of one phone; further ones take the place of those that were renewed longest ago. */
export const MAX_BINDINGS = 8;

/** Applies a REGISTER to the bindings of a phone: all of it or nothing. */
export function registerPhone(
  before: readonly PhoneBinding[],
  request: RegisterRequest,
  source: RegisterSource,
  nowMs: number,
): Registered {
  const live = liveBindings(before, nowMs);
  const isAll = request.contacts === '*';
  const asked = isAll ? live.map(removalOf) : request.contacts;
  let bindings = live;
  for (const contact of asked) {
    const seconds = contact.expiresSeconds ?? request.expiresSeconds ?? DEFAULT_EXPIRES_SECONDS;
    if (seconds > 0 && seconds < MIN_EXPIRES_SECONDS)
      return { is: 'too_brief', minSeconds: MIN_EXPIRES_SECONDS };
    const isReplaced = (binding: PhoneBinding) =>
      isAll ? binding.contact === contact.uri : isSamePlace(binding, contact, { request, source });
    const replaced = live.filter(isReplaced);
    if (replaced.some(({ callId, cseq }) => callId === request.callId && request.cseq <= cseq))
      return { is: 'out_of_order' };
    bindings = bindings.filter((binding) => !isReplaced(binding));
    if (seconds > 0) bindings = [...bindings, bindingOf(contact, { request, source, nowMs, seconds })];
  }
  return { is: 'done', bindings: bindings.slice(-MAX_BINDINGS), hasChanged: asked.length > 0 };
}

/** Those that have not run out, the last renewed ones last. */
export function liveBindings(bindings: readonly PhoneBinding[], nowMs: number): readonly PhoneBinding[] {
  return bindings.filter(({ untilMs }) => untilMs > nowMs);
}

/**
 * The places to ring: of a phone with several connections, the last renewed one (RFC 5626 §5.3). Empty if it
 * is not registered.
 */
export function placesToRing(bindings: readonly PhoneBinding[], nowMs: number): readonly PhoneBinding[] {
  const phoneOf = ({ instance, contact, nextHop }: PhoneBinding) => instance ?? `${contact} ${nextHop}`;
  return [...new Map(liveBindings(bindings, nowMs).map((each) => [phoneOf(each), each])).values()];
}

/** `<sip:…>;expires=…` of each, for the answer. */
export function contactValues(bindings: readonly PhoneBinding[], nowMs: number): string[] {
  return bindings.map(({ contact, untilMs }) => {
    const seconds = Math.max(1, Math.ceil((untilMs - nowMs) / 1_000));
    return `<${contact}>;expires=${seconds}`;
  });
}

function removalOf({ contact, instance, flow }: PhoneBinding): AskedContact {
  return { uri: contact, expiresSeconds: 0, instance, flow };
}

/** Two phones at two homes may have the same private address in their Contacts. */
function isSamePlace(
  binding: PhoneBinding,
  contact: AskedContact,
  { request, source }: { readonly request: RegisterRequest; readonly source: RegisterSource },
): boolean {
  if (contact.flow !== null && binding.flow === contact.flow) return true;
  const isFromThere = binding.address === source.address || binding.callId === request.callId;
  return isFromThere && comparable(binding.contact) === comparable(contact.uri);
}

/** Hosts are the same in any case, users are not (RFC 3261 §19.1.4). */
function comparable(uri: string): string {
  const at = uri.lastIndexOf('@');
  return `${uri.slice(0, at + 1)}${uri.slice(at + 1).toLowerCase()}`;
}

function bindingOf(
  { uri, instance, flow }: AskedContact,
  of: {
    readonly request: RegisterRequest;
    readonly source: RegisterSource;
    readonly nowMs: number;
    readonly seconds: number;
  },
): PhoneBinding {
  const { request, source, nowMs } = of;
  const { address, transport, server } = source;
  const own = readSipUri(uri);
  const isBehindNat = transport === 'udp' && own?.host !== address;
  // Phones exist that send from another port than the one they listen on; a NAT knows only the former.
  const port = transport === 'udp' && !isBehindNat ? (own?.port ?? 5_060) : source.port;
  const most = isBehindNat ? MAX_NAT_SECONDS : MAX_EXPIRES_SECONDS;
  return {
    contact: uri,
    instance,
    flow,
    callId: request.callId,
    cseq: request.cseq,
    untilMs: nowMs + Math.min(of.seconds, most) * 1_000,
    registeredMs: nowMs,
    address,
    nextHop: `sip:${hostPort(address, port)};transport=${transport}`,
    transport,
    path: request.path,
    server,
    userAgent: request.userAgent,
  };
}

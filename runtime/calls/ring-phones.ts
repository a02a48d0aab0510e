/**
 * Rings all phones of an extension at once (RFC 3261 §16.7): the first that answers has the call, and the
 * others are cancelled. Nobody else is rung once somebody has declined.
 */
import type { PhonePlace } from '#protocol/phone-places.ts';
import type { OutboundCall, OutboundCallRequest, PlaceCall } from '#telephony/outbound-call.ts';
import { InviteRefused } from '#telephony/signalling.ts';

/** Calls one phone; never rejects. */
type CallOne = (signal: AbortSignal) => Promise<OutboundCall>;

/** How phones are called. */
export interface PhoneRing {
  readonly places: readonly PhonePlace[];
  readonly placeCall: PlaceCall;
  /** The same for all calls. */
  readonly request: Omit<OutboundCallRequest, 'toUri' | 'line' | 'isRegistered'>;
}

/** Rings phones where they have registered; never rejects. */
export function ringPlaces(
  { places, placeCall, request }: PhoneRing,
  signal: AbortSignal,
): Promise<OutboundCall> {
  return ringPhones(
    places.map(
      (place) => (either) => placeCall({ ...request, ...atPlace(place, request.fromNumber) }, either),
    ),
    signal,
  );
}

/** The phone is called by the way it came. From is our own address, which signalling writes. */
function atPlace({ dial_uri: toUri, next_hop: nextHop, routes, server }: PhonePlace, fromUser: string) {
  const own = { fromUser, fromHost: 'localhost', contactPlace: null };
  return { toUri, line: { ...own, nextHop, routes, server }, isRegistered: true };
}

/** Rings them; never rejects. Without phones nobody answers. */
export function ringPhones(phones: readonly CallOne[], signal: AbortSignal): Promise<OutboundCall> {
  const { promise, resolve } = Promise.withResolvers<OutboundCall>();
  const over = new AbortController();
  const ended: OutboundCall[] = [];
  let hasAnswer = false;
  const take = (call: OutboundCall) => {
    if (call.outcome === 'answered') {
      // Two people have picked up in the same moment.
      if (hasAnswer) call.leg.send({ do: 'close' });
      else resolve(call);
      hasAnswer = true;
    } else ended.push(call);
    if (hasAnswer || isDeclined(call)) over.abort();
    if (!hasAnswer && ended.length === phones.length) resolve(mostTelling(ended));
  };
  if (phones.length === 0) resolve({ outcome: 'no_answer', error: null });
  const either = AbortSignal.any([signal, over.signal]);
  for (const call of phones) void call(either).then(take);
  return promise;
}

/** A person has refused the call for all their phones (RFC 3261 §21.6). */
function isDeclined(call: OutboundCall): boolean {
  return 'error' in call && call.error instanceof InviteRefused && call.error.status >= 600;
}

/** The outcome to tell the caller: a person's decision rather than a phone that is switched off. */
function mostTelling(calls: readonly OutboundCall[]): OutboundCall {
  const order = ['busy', 'no_answer', 'failed', 'cancelled'];
  const [first = { outcome: 'no_answer', error: null } as const] = calls.toSorted(
    (one, other) =>
      Number(isDeclined(other)) - Number(isDeclined(one)) ||
      order.indexOf(one.outcome) - order.indexOf(other.outcome),
  );
  return first;
}

/**
 * Calls of this server that came back to it: a tenant's SIP address that leads here must not ring another
 * tenant's number as if a carrier had called.
 */
import { readSipUri } from '../sip-address.ts';
import { type Core, ownHostPort } from './core.ts';
import { contactUri, headerList, parameter } from './message.ts';
import type { ServerTransaction } from './transaction.ts';
import { defaultPort, parseVia } from './via.ts';

/** True for an INVITE whose topmost Via or whose Contact is this server. */
export function isOwnInvite(core: Core, { request, peer }: ServerTransaction): boolean {
  const top = headerList(request, 'via')[0] ?? '';
  const branch = parameter(top, 'branch');
  if (branch !== null && core.clients.byKey.has(`${branch}\nINVITE`)) return true;
  const own = (['udp', 'tls'] as const).map((transport) =>
    readSipUri(`sip:${ownHostPort(core, { ...peer, transport })}`),
  );
  const via = parseVia(top);
  const named = [
    via && `sip:${via.host}:${via.port ?? defaultPort(peer.transport)}`,
    contactUri(request),
  ].map((uri) => (uri ? readSipUri(uri) : null));
  return named.some(
    (place) =>
      place &&
      own.some(
        (each) => each?.host === place.host && each.port === (place.port ?? defaultPort(peer.transport)),
      ),
  );
}

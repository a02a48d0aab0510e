/** Builds the question to the control plane about a new INVITE. */
import { isLoopback } from '#base/public-address.ts';
import { type AdmissionRequest, admissionHeaders } from '#protocol/sip-admission.ts';
import { isAnswerable } from '../sdp.ts';
import type { Core } from './core.ts';
import { header, parseUri, uriOf } from './message.ts';
import type { ServerTransaction } from './transaction.ts';

/** As many as the question allows. */
const MAX_URI_CHARS = 2_048;

/** Builds the question of this server. */
export function admissionRequestOf(
  { apps, options: { sipHost } }: Pick<Core, 'apps' | 'options'>,
  transaction: ServerTransaction,
): AdmissionRequest {
  const { request, peer } = transaction;
  const userAgent = header(request, 'user-agent');
  const requestUri = request.start.kind === 'request' ? request.start.uri : '';
  return {
    call_id: (header(request, 'call-id') ?? '').slice(0, 512),
    from_user: (parseUri(uriOf(header(request, 'from') ?? ''))?.user ?? '').slice(0, 256),
    to_user: (parseUri(requestUri)?.user ?? '').slice(0, 256),
    // A longer one cannot match any number or agent.
    ...(requestUri.length > MAX_URI_CHARS ? {} : { request_uri: requestUri }),
    ...(userAgent === null ? {} : { user_agent: userAgent.slice(0, 256) }),
    source_address: peer.address,
    ...(isLoopback(sipHost) ? { is_local: true as const } : {}),
    source_port: peer.port,
    transport: peer.transport,
    headers: admissionHeaders(request.headers),
    worker_tags: [...apps].flatMap(({ verbs, tags }) => (verbs.has('invite') ? [...tags] : [])),
    // Without an offer the answer to the INVITE contains ours.
    is_answerable: request.body === '' || isAnswerable(request.body),
  };
}

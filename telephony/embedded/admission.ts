/** What the control plane is asked about a new INVITE, made of what the INVITE says. */
import type { AdmissionRequest } from '#config/sip-admission.ts';
import { isAnswerable } from '../sdp.ts';
import { header, longName, parseUri, uriOf } from './message.ts';
import type { ServerTransaction } from './transaction.ts';

/** Headers admission looks at. */
const ADMISSION_HEADERS = new Set(['authorization', 'proxy-authorization', 'p-asserted-identity', 'privacy', 'diversion']);
const MAX_ADMISSION_HEADER = 2_048;

/** The question. */
export function admissionRequestOf(transaction: ServerTransaction): AdmissionRequest {
  const { request, peer } = transaction;
  const headers: Record<string, string> = {};
  for (const entry of request.headers) {
    const name = longName(entry.name);
    if (ADMISSION_HEADERS.has(name) || name.startsWith('x-')) headers[name] ??= entry.value.slice(0, MAX_ADMISSION_HEADER);
  }
  return {
    call_id: (header(request, 'call-id') ?? '').slice(0, 512),
    from_user: (parseUri(uriOf(header(request, 'from') ?? ''))?.user ?? '').slice(0, 256),
    to_user: request.start.kind === 'request' ? (parseUri(request.start.uri)?.user ?? '').slice(0, 256) : '',
    source_address: peer.address,
    source_port: peer.port,
    transport: peer.transport,
    headers,
    // Without an offer it is ours to make.
    is_answerable: request.body === '' || isAnswerable(request.body),
  };
}

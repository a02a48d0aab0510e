/** Why the rules of SIP forbid a request (RFC 3261 §8.2, RFC 3311, RFC 4028). Pure. */
import { EXTENSIONS, REGISTER_EXTENSIONS } from '../extensions.ts';
import type { Dialog } from './dialog.ts';
import { header, headerList, type SipHeader, type SipMessage } from './message.ts';
import { isTooShort, MIN_SESSION_SECONDS } from './session-timer.ts';

/** The response that refuses a request. */
export interface Refusal {
  readonly status: number;
  readonly headers?: readonly SipHeader[];
}

export const SDP_TYPE = 'application/sdp';
/** What an INVITE may contain. */
const ACCEPTED: readonly SipHeader[] = [
  { name: 'Accept', value: SDP_TYPE },
  { name: 'Accept-Encoding', value: 'identity' },
];
/** The same request may succeed a little later. */
export const RETRY_SOON: readonly SipHeader[] = [{ name: 'Retry-After', value: '2' }];

/** Why a request outside a dialog is refused; null if it is not (RFC 3261 §8.2.2, §8.2.3). */
export function refusalOf(request: SipMessage): Refusal | null {
  if (!knowsScheme(request)) return { status: 416 };
  if (requiredOptions(request).length > 0) return unsupported(request);
  if (isTooShort(request)) return TOO_SHORT;
  if (!isReadable(request)) return { status: 415, headers: ACCEPTED };
  return takesDescriptions(request) ? null : { status: 406 };
}

/** Why a request inside a dialog is refused; null if it is not. A refused one does not change the dialog. */
export function refusalInDialog(
  { request, method }: { readonly request: SipMessage; readonly method: string },
  { dialog, cseq }: { readonly dialog: Dialog; readonly cseq: number },
): Refusal | null {
  // Overtaken by a later request (RFC 3261 §12.2.2).
  if (dialog.remoteCseq !== null && cseq < dialog.remoteCseq) return { status: 500 };
  if (requiredOptions(request).length > 0 && method !== 'BYE') return unsupported(request);
  if (isRefresh(method) && isTooShort(request)) return TOO_SHORT;
  if (!isReadable(request)) return { status: 415, headers: ACCEPTED };
  // The offer of the INVITE has no answer yet (RFC 3311 §5.2).
  if (method === 'UPDATE' && !dialog.isConfirmed) return { status: 500, headers: RETRY_SOON };
  if (isRefresh(method) && dialog.ownInvite !== null && dialog.ownInvite.state !== 'completed')
    return { status: 491 };
  return isRefresh(method) && dialog.theirInvite?.isFinal === false
    ? { status: 500, headers: RETRY_SOON }
    : null;
}

const TOO_SHORT: Refusal = {
  status: 422,
  headers: [{ name: 'Min-SE', value: String(MIN_SESSION_SECONDS) }],
};

function unsupported(request: SipMessage): Refusal {
  return {
    status: 420,
    headers: [{ name: 'Unsupported', value: requiredOptions(request).join(', ') }],
  };
}

/** True for methods that refresh a session and may move its target. */
export function isRefresh(method: string): boolean {
  return method === 'INVITE' || method === 'UPDATE';
}

function knowsScheme({ start }: SipMessage): boolean {
  return start.kind === 'request' && /^(?:sips?|tel):/i.test(start.uri);
}

/** Extensions the sender requires and the server does not support (RFC 3261 §8.2.2.3). */
function requiredOptions(request: SipMessage): string[] {
  const isRegister = request.start.kind === 'request' && request.start.method === 'REGISTER';
  const known = isRegister ? REGISTER_EXTENSIONS : EXTENSIONS;
  return headerList(request, 'require').filter((option) => !known.includes(option.toLowerCase()));
}

/** True when the body of an INVITE or UPDATE is an unencoded session description (RFC 3261 §8.2.3). */
function isReadable(request: SipMessage): boolean {
  if (request.start.kind !== 'request' || !isRefresh(request.start.method) || request.body === '')
    return true;
  const type = (header(request, 'content-type') ?? SDP_TYPE).split(';')[0]?.trim().toLowerCase();
  return (
    type === SDP_TYPE &&
    (header(request, 'content-encoding') ?? 'identity').trim().toLowerCase() === 'identity'
  );
}

/** True unless the sender of an INVITE does not accept session descriptions (RFC 3261 §20.1). */
function takesDescriptions(request: SipMessage): boolean {
  if (
    request.start.kind !== 'request' ||
    request.start.method !== 'INVITE' ||
    header(request, 'accept') === null
  )
    return true;
  const types = headerList(request, 'accept').map((type) => type.split(';')[0]?.trim().toLowerCase() ?? '');
  return types.some((type) => [SDP_TYPE, 'application/*', '*/*'].includes(type));
}

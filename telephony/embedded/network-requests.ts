/**
 * Requests from the network: retransmissions are absorbed, CANCEL and ACK matched, new INVITEs admitted and
 * routed, and the rest handed to an application (RFC 3261 §8.2, §9.2).
 */
import { ALLOW } from '../methods.ts';
import { admissionRequestOf } from './admission.ts';
import { type Core, newTag } from './core.ts';
import { onAck, onInDialog } from './in-dialog-requests.ts';
import { isOwnInvite } from './loop-detection.ts';
import {
  contactUri,
  formatMessage,
  header,
  headerList,
  longName,
  parameter,
  parseCseq,
  type SipMessage,
  uriOf,
} from './message.ts';
import { refusalOf, SDP_TYPE } from './request-rules.ts';
import { REASONS, SUPPORTED, sendResponse } from './responses.ts';
import { cancelOf, deliverCancel, hand, isFirst, openTransaction, reply } from './server-transactions.ts';
import type { ServerTransaction } from './transaction.ts';
import type { Peer } from './transport.ts';
import { hasCookie, parseVia, replyPeer, transactionKey, withReceived } from './via.ts';

const RETRY_AFTER_SECONDS = 5;

/** Handles a well-formed request. */
export function onRequest(core: Core, received: SipMessage, source: Peer): void {
  const request = withContact(withReceived(received, source));
  const cseq = parseCseq(request);
  if (request.start.kind !== 'request' || !cseq) return;
  const { method } = request.start;
  const key = transactionKey(request, method === 'ACK' ? 'INVITE' : method);
  const known = core.servers.byKey.get(key);
  if (method === 'ACK') onAck(core, request, { source, known });
  else if (known) known.receiveAgain();
  else if (method === 'CANCEL') onCancel(core, request, { source, key });
  else if (parameter(header(request, 'to') ?? '', 'tag') !== null)
    onInDialog(core, request, { source, key, method, cseq: cseq.number });
  else onNew(core, request, { source, key, method });
}

/** Refuses a malformed request without a transaction; a retransmission is refused again. */
export function refuseStateless(
  core: Core,
  { status, request: received }: { readonly status: number; readonly request: SipMessage },
  source: Peer,
): void {
  const request = withReceived(received, source);
  const same = (name: string) => request.headers.filter((entry) => longName(entry.name) === name);
  const to = same('to').map(({ name, value }) => ({
    name,
    value: parameter(value, 'tag') === null ? `${value};tag=${newTag()}` : value,
  }));
  const headers = [...same('via'), ...same('from'), ...to, ...same('call-id'), ...same('cseq')];
  core.send(
    formatMessage({ start: { kind: 'response', status, reason: REASONS[status] ?? '' }, headers, body: '' }),
    replyPeer(request, source),
  );
}

/** A client of RFC 2543 may omit its Contact; its From is used instead (§6.22 there). */
function withContact(request: SipMessage): SipMessage {
  const via = parseVia(headerList(request, 'via')[0] ?? '');
  const isInvite = request.start.kind === 'request' && request.start.method === 'INVITE';
  if (!isInvite || !via || hasCookie(via) || header(request, 'contact') !== null) return request;
  return {
    ...request,
    headers: [...request.headers, { name: 'Contact', value: `<${uriOf(header(request, 'from') ?? '')}>` }],
  };
}

function onNew(
  core: Core,
  request: SipMessage,
  from: { readonly source: Peer; readonly key: string; readonly method: string },
): void {
  const transaction = openTransaction(core, request, { ...from, app: null, dialog: null });
  const isMerged = from.method === 'INVITE' && !isFirst(core, transaction);
  const refusal = refusalOf(request);
  // The same request by another path (RFC 3261 §8.2.2.2), which gets one answer; or a loop of our own.
  if (isMerged || (from.method === 'INVITE' && isOwnInvite(core, transaction))) reply(core, transaction, 482);
  else if (refusal) reply(core, transaction, refusal.status, refusal.headers);
  else if (from.method === 'INVITE') onInvite(core, transaction);
  else if (from.method === 'OPTIONS')
    reply(core, transaction, 200, [
      { name: 'Allow', value: ALLOW },
      { name: 'Accept', value: SDP_TYPE },
      { name: 'Supported', value: SUPPORTED },
    ]);
  else {
    const app = [...core.apps].find((candidate) => candidate.verbs.has(from.method.toLowerCase()));
    if (app) hand(core, transaction, app, null);
    else reply(core, transaction, 405);
  }
}

function onInvite(core: Core, transaction: ServerTransaction): void {
  core.metrics.invites += 1;
  // Without a Contact the caller could not be hung up on (RFC 3261 §8.1.1.8).
  if (contactUri(transaction.request) === null) {
    core.metrics.malformed += 1;
    reply(core, transaction, 400);
    return;
  }
  reply(core, transaction, 100);
  admitInvite(core, transaction).catch((error: unknown) =>
    core.options.logger.error({ err: error }, 'an INVITE could not be routed'),
  );
}

/** Asks the control plane whether the call is admitted, and by which worker. */
async function admitInvite(core: Core, transaction: ServerTransaction): Promise<void> {
  const answer = await core.options.admit(admissionRequestOf(core, transaction)).catch((error: unknown) => {
    core.options.logger.warn(
      { err: error },
      'the control plane could not be asked to admit a call; the call is refused',
    );
    return null;
  });
  if (answer?.action === 'route') {
    const app = [...core.apps].find(
      (candidate) => candidate.tags.has(answer.data.tag) && candidate.verbs.has('invite'),
    );
    if (app) {
      hand(core, transaction, app, null);
      // Cancelled meanwhile: the worker that accepted the call frees its slot.
      if (transaction.isFinal) deliverCancel(core, transaction, app, cancelOf(transaction.request));
      return;
    }
  }
  if (transaction.isFinal) return;
  core.metrics.refused += 1;
  if (answer?.action === 'reject') {
    const headers = Object.entries(answer.data.headers ?? {}).flatMap(([name, values]) =>
      [values].flat().map((value) => ({ name, value })),
    );
    sendResponse(core, transaction, {
      start: { kind: 'response', status: answer.data.status, reason: answer.data.reason },
      headers,
      body: '',
      toTag: null,
    });
  } else reply(core, transaction, 503, [{ name: 'Retry-After', value: String(RETRY_AFTER_SECONDS) }]);
}

function onCancel(
  core: Core,
  request: SipMessage,
  from: { readonly source: Peer; readonly key: string },
): void {
  const transaction = openTransaction(core, request, { ...from, method: 'CANCEL', app: null, dialog: null });
  const invite = core.servers.byKey.get(transactionKey(request, 'INVITE'));
  if (!invite) {
    reply(core, transaction, 481);
    return;
  }
  const owner = core.owners.get(invite);
  // Both responses have the same tag (RFC 3261 §9.2).
  const toTag = owner?.dialog?.localTag ?? newTag();
  const answer = (asked: ServerTransaction, status: number) =>
    sendResponse(core, asked, {
      start: { kind: 'response', status, reason: REASONS[status] ?? '' },
      headers: [],
      body: '',
      toTag,
    });
  answer(transaction, 200);
  if (invite.isFinal) return;
  answer(invite, 487);
  if (owner?.app) deliverCancel(core, invite, owner.app, request);
}

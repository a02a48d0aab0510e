/**
 * Requests from the network: retransmissions absorbed, CANCEL and ACK matched, new INVITEs admitted and
 * routed, the rest handed to the dialog's application (RFC 3261 §8.2, §9.2, §12.2.2).
 */
import { ALLOW } from '../methods.ts';
import { admissionRequestOf } from './admission.ts';
import type { App } from './app-protocol.ts';
import { type Core, deliver, loseDialog, newTag, ownHostPort } from './core.ts';
import type { Dialog } from './dialog.ts';
import {
  contactUri,
  formatMessage,
  header,
  headerList,
  longName,
  parameter,
  parseCseq,
  type SipHeader,
  type SipMessage,
  uriOf,
} from './message.ts';
import { isOwnInvite } from './own-calls.ts';
import { EXTENSIONS, REASONS, SUPPORTED, sendResponse } from './responses.ts';
import { isTooShort, MIN_SESSION_SECONDS } from './session-timer.ts';
import { ServerTransaction } from './transaction.ts';
import type { Peer } from './transport.ts';
import { hasCookie, parseVia, replyPeer, transactionKey, withReceived } from './via.ts';

const RETRY_AFTER_SECONDS = 5;
const SDP_TYPE = 'application/sdp';
/** What an INVITE may bring. */
const ACCEPTED: readonly SipHeader[] = [
  { name: 'Accept', value: SDP_TYPE },
  { name: 'Accept-Encoding', value: 'identity' },
];

/** A well-formed request came in. */
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

/** Refuses what makes no sense, without a transaction: it may come again, and is refused again. */
export function refuseUnkept(
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

/** A client of RFC 2543 may leave its Contact out: it is reached by what its From says (§6.22 there). */
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
  // The same request by another way (RFC 3261 §8.2.2.2): whoever forked it gets one answer. One of our own
  // has gone round in a circle.
  if (isMerged || (from.method === 'INVITE' && isOwnInvite(core, transaction))) reply(core, transaction, 482);
  else if (isRefused(core, transaction)) return;
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

/** What the rules forbid outside of a dialog is answered here (RFC 3261 §8.2.2, §8.2.3). */
function isRefused(core: Core, transaction: ServerTransaction): boolean {
  const { request } = transaction;
  if (!knowsScheme(request)) reply(core, transaction, 416);
  else if (requiredOptions(request).length > 0) refuseRequired(core, transaction);
  else if (isTooShort(request)) refuseTooShort(core, transaction);
  else if (!isReadable(request)) reply(core, transaction, 415, ACCEPTED);
  else if (!takesDescriptions(request)) reply(core, transaction, 406);
  else return false;
  return true;
}

function onInvite(core: Core, transaction: ServerTransaction): void {
  core.metrics.invites += 1;
  // Without a Contact nobody could ever hang up on the caller (RFC 3261 §8.1.1.8).
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

/** Notes a new INVITE; false when it has come by another way already, and was not refused. */
function isFirst(core: Core, transaction: ServerTransaction): boolean {
  const key = requestKey(transaction.request);
  const before = core.invites.get(key);
  if (before !== undefined && before.status < 300) return false;
  core.invites.set(key, transaction);
  return true;
}

/** Names a request outside a dialog, whatever way it came (RFC 3261 §8.2.2.2). */
function requestKey(request: SipMessage): string {
  const fromTag = parameter(header(request, 'from') ?? '', 'tag') ?? '';
  return `${header(request, 'call-id') ?? ''}\n${fromTag}\n${header(request, 'cseq') ?? ''}`;
}

function knowsScheme({ start }: SipMessage): boolean {
  return start.kind === 'request' && /^(?:sips?|tel):/i.test(start.uri);
}

/** Extensions the sender insists on that the server does not understand (RFC 3261 §8.2.2.3). */
function requiredOptions(request: SipMessage): string[] {
  return headerList(request, 'require').filter((option) => !EXTENSIONS.includes(option.toLowerCase()));
}

/** True when the body of an INVITE or UPDATE is a session description, as it stands (RFC 3261 §8.2.3). */
function isReadable(request: SipMessage): boolean {
  if (request.start.kind !== 'request' || !isRefresh(request.start.method) || request.body === '')
    return true;
  const type = (header(request, 'content-type') ?? SDP_TYPE).split(';')[0]?.trim().toLowerCase();
  return (
    type === SDP_TYPE &&
    (header(request, 'content-encoding') ?? 'identity').trim().toLowerCase() === 'identity'
  );
}

/** True unless the sender of an INVITE says that it reads no session description (RFC 3261 §20.1). */
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

function refuseTooShort(core: Core, transaction: ServerTransaction): void {
  reply(core, transaction, 422, [{ name: 'Min-SE', value: String(MIN_SESSION_SECONDS) }]);
}

function refuseRequired(core: Core, transaction: ServerTransaction): void {
  reply(core, transaction, 420, [
    { name: 'Unsupported', value: requiredOptions(transaction.request).join(', ') },
  ]);
}

/** One question decides everything: admission, and the worker that takes the call. */
async function admitInvite(core: Core, transaction: ServerTransaction): Promise<void> {
  const answer = await core.options.admit(admissionRequestOf(transaction)).catch((error: unknown) => {
    core.options.logger.warn({ err: error }, 'admission could not be asked');
    return null;
  });
  if (answer?.action === 'route') {
    const app = [...core.apps].find(
      (candidate) => candidate.tags.has(answer.data.tag) && candidate.verbs.has('invite'),
    );
    if (app) {
      hand(core, transaction, app, null);
      // Cancelled meanwhile: the worker that accepted the call is told so, and frees its slot.
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

function onInDialog(
  core: Core,
  request: SipMessage,
  from: { readonly source: Peer; readonly key: string; readonly method: string; readonly cseq: number },
): void {
  const toTag = parameter(header(request, 'to') ?? '', 'tag') ?? '';
  const dialog = core.dialogs.find(
    header(request, 'call-id') ?? '',
    toTag,
    parameter(header(request, 'from') ?? '', 'tag'),
  );
  const transaction = openTransaction(core, request, { ...from, app: dialog?.app ?? null, dialog });
  if (!dialog) {
    reply(core, transaction, 481);
    return;
  }
  if (isRefusedInDialog(core, transaction, { dialog, cseq: from.cseq })) return;
  dialog.remoteCseq = from.cseq;
  dialog.peer = from.source;
  // A caller who hangs up has heard the answer, whatever became of the ACK.
  if (from.method === 'BYE') dialog.pendingInvite?.acknowledge();
  if (!core.apps.has(dialog.app)) {
    onInterregnum(core, transaction, dialog);
    return;
  }
  if (from.method === 'PRACK') {
    onPrack(core, transaction, dialog);
    return;
  }
  if (from.method === 'INVITE') {
    dialog.theirInvite = transaction;
    reply(core, transaction, 100);
  }
  if (isRefresh(from.method)) dialog.target = contactUri(request) ?? dialog.target;
  hand(core, transaction, dialog.app, dialog);
}

/** What the rules forbid inside a dialog is answered here, and changes nothing of it. */
function isRefusedInDialog(
  core: Core,
  transaction: ServerTransaction,
  { dialog, cseq }: { dialog: Dialog; cseq: number },
): boolean {
  const { request, method } = transaction;
  if (dialog.remoteCseq !== null && cseq < dialog.remoteCseq) {
    // Overtaken by a later request (RFC 3261 §12.2.2).
    reply(core, transaction, 500);
  } else if (requiredOptions(request).length > 0 && method !== 'BYE') refuseRequired(core, transaction);
  else if (isRefresh(method) && isTooShort(request)) refuseTooShort(core, transaction);
  else if (!isReadable(request)) reply(core, transaction, 415, ACCEPTED);
  else if (method === 'UPDATE' && !dialog.isConfirmed) {
    // The offer of the INVITE has no answer yet (RFC 3311 §5.2).
    reply(core, transaction, 500, [{ name: 'Retry-After', value: '2' }]);
  } else if (isRefresh(method) && dialog.ownInvite !== null && dialog.ownInvite.state !== 'completed')
    reply(core, transaction, 491);
  else if (isRefresh(method) && dialog.theirInvite?.isFinal === false)
    reply(core, transaction, 500, [{ name: 'Retry-After', value: '2' }]);
  else return false;
  return true;
}

/**
 * The other side has heard a reliable provisional response (RFC 3262 §3); a PRACK of anything else is of no
 * use.
 */
function onPrack(core: Core, transaction: ServerTransaction, dialog: Dialog): void {
  const invite = dialog.unpracked;
  const [rseq, cseq, method] = (header(transaction.request, 'rack') ?? '').trim().split(/\s+/);
  const isMeant =
    invite !== null &&
    Number(rseq) === invite.rseq &&
    Number(cseq) === parseCseq(invite.request)?.number &&
    method === 'INVITE';
  if (!isMeant) {
    reply(core, transaction, 481);
    return;
  }
  dialog.unpracked = null;
  if (!invite.isFinal) invite.acknowledge();
  reply(core, transaction, 200);
}

/** True for what refreshes a session, and may move its target. */
function isRefresh(method: string): boolean {
  return method === 'INVITE' || method === 'UPDATE';
}

/**
 * The call has lost its worker and waits for another one: the caller may leave, everything else is for later.
 */
function onInterregnum(core: Core, transaction: ServerTransaction, dialog: Dialog): void {
  if (transaction.method !== 'BYE') {
    reply(core, transaction, 500, [{ name: 'Retry-After', value: '2' }]);
    return;
  }
  reply(core, transaction, 200);
  dialog.hasLeft = true;
}

function onAck(
  core: Core,
  request: SipMessage,
  from: { readonly source: Peer; readonly known: ServerTransaction | undefined },
): void {
  if (from.known && from.known.status >= 300) {
    from.known.acknowledge();
    return;
  }
  const toTag = parameter(header(request, 'to') ?? '', 'tag');
  const dialog =
    toTag === null
      ? null
      : core.dialogs.find(
          header(request, 'call-id') ?? '',
          toTag,
          parameter(header(request, 'from') ?? '', 'tag'),
        );
  if (!dialog) return;
  const isFirst = dialog.pendingInvite !== null;
  dialog.pendingInvite?.acknowledge();
  dialog.pendingInvite = null;
  if (isFirst)
    deliver(dialog.app, core, request, {
      peer: from.source,
      transactionId: dialog.id,
      dialogId: dialog.id,
      receivedOn: [],
    });
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
  // Both are answered under one tag (RFC 3261 §9.2).
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

/** A CANCEL is told under the transaction of the INVITE it ends. */
function deliverCancel(core: Core, invite: ServerTransaction, app: App, cancel: SipMessage): void {
  deliver(app, core, cancel, { peer: invite.peer, transactionId: invite.id, dialogId: '', receivedOn: [] });
}

/** The CANCEL of an INVITE that no worker had yet when it came (RFC 3261 §9.1). */
function cancelOf(invite: SipMessage): SipMessage {
  const named = ['via', 'max-forwards', 'from', 'to', 'call-id'];
  return {
    start: {
      kind: 'request',
      method: 'CANCEL',
      uri: invite.start.kind === 'request' ? invite.start.uri : '',
    },
    headers: [
      ...invite.headers.filter((entry) => named.includes(longName(entry.name))),
      { name: 'CSeq', value: `${parseCseq(invite)?.number ?? 1} CANCEL` },
    ],
    body: '',
  };
}

function openTransaction(
  core: Core,
  message: SipMessage,
  from: {
    readonly source: Peer;
    readonly key: string;
    readonly method: string;
    readonly app: App | null;
    readonly dialog: Dialog | null;
  },
): ServerTransaction {
  const transaction: ServerTransaction = new ServerTransaction(
    { clock: core.options.clock, send: (text, peer) => core.send(text, peer) },
    { key: from.key, message, method: from.method, peer: replyPeer(message, from.source) },
    {
      onAckTimeout: () => onAckTimeout(core, transaction),
      onPrackTimeout: () => giveUp(core, transaction, 504),
      onUnanswered: () => onUnanswered(core, transaction),
      onDone: () => forget(core, transaction),
    },
  );
  core.servers.byKey.set(transaction.key, transaction);
  core.servers.byId.set(transaction.id, transaction);
  core.owners.set(transaction, { app: from.app, dialog: from.dialog });
  return transaction;
}

/**
 * The caller never acknowledged our 2xx: the dialog is ended with a BYE, and its application told (RFC 3261
 * §13.3.1.4).
 */
function onAckTimeout(core: Core, transaction: ServerTransaction): void {
  const dialog = core.owners.get(transaction)?.dialog;
  if (!dialog || core.dialogs.get(dialog.id) !== dialog) return;
  loseDialog(core, dialog);
}

/**
 * Refuses an INVITE that its application may still have in hand: it is told as if the caller had cancelled.
 */
function giveUp(core: Core, invite: ServerTransaction, status: number): void {
  const app = core.owners.get(invite)?.app;
  reply(core, invite, status);
  if (app) deliverCancel(core, invite, app, cancelOf(invite.request));
}

/** A request that is no INVITE is past its time, and needs no answer any more (RFC 4320 §4.1). */
function onUnanswered(core: Core, transaction: ServerTransaction): void {
  if (transaction.method === 'INVITE') giveUp(core, transaction, 500);
  else forget(core, transaction);
}

function forget(core: Core, transaction: ServerTransaction): void {
  core.servers.byKey.delete(transaction.key);
  core.servers.byId.delete(transaction.id);
  core.owners.delete(transaction);
  const key = requestKey(transaction.request);
  if (core.invites.get(key) === transaction) core.invites.delete(key);
}

function hand(core: Core, transaction: ServerTransaction, app: App, dialog: Dialog | null): void {
  core.owners.set(transaction, { app, dialog });
  const [host = '', port = ''] = ownHostPort(core, transaction.peer).split(/:(?=\d+$)/);
  deliver(app, core, transaction.request, {
    peer: transaction.peer,
    transactionId: transaction.id,
    dialogId: dialog?.id ?? '',
    receivedOn: dialog ? [] : [host, port],
  });
}

function reply(
  core: Core,
  transaction: ServerTransaction,
  status: number,
  headers: readonly SipHeader[] = [],
): void {
  sendResponse(core, transaction, {
    start: { kind: 'response', status, reason: REASONS[status] ?? '' },
    headers,
    body: '',
    toTag: null,
  });
}

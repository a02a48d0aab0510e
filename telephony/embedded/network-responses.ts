/**
 * Responses from the network, and requests that got none: matches them to transactions, acknowledges them
 * where the server must, and passes them to the application.
 */
import type { App } from './app-protocol.ts';
import { type Core, deliver, dialogPeer, dialogRequest, hangUp, loseDialog } from './core.ts';
import type { Dialog } from './dialog.ts';
import {
  contactUri,
  formatMessage,
  header,
  headerList,
  parameter,
  parseCseq,
  type SipMessage,
} from './message.ts';
import { restartTimer, timerOfResponse } from './session-timer.ts';
import type { ClientTransaction } from './transaction.ts';
import type { Peer } from './transport.ts';

/** Handles a response. */
export function onResponse(core: Core, message: SipMessage, source: Peer): void {
  const cseq = parseCseq(message);
  const branch = parameter(headerList(message, 'via')[0] ?? '', 'branch');
  if (message.start.kind !== 'response' || !cseq || branch === null) {
    core.metrics.malformed += 1;
    return;
  }
  const { status } = message.start;
  const transaction = core.clients.byKey.get(`${branch}\n${cseq.method}`);
  if (transaction?.method === 'INVITE' && isLateAnswer(core, transaction, message))
    endOther(core, transaction, { message, source });
  else if (transaction?.receive(status)) onNewResponse(core, transaction, { message, source, status });
}

/** Handles a response that is new to the application. */
function onNewResponse(
  core: Core,
  transaction: ClientTransaction,
  { message, source, status }: { message: SipMessage; source: Peer; status: number },
): void {
  if (transaction.method === 'INVITE' && status >= 300) acknowledgeRefusal(transaction, message);
  if (status === 100) return;
  const owner = core.owners.get(transaction);
  if (owner && !owner.app && transaction.method === 'UPDATE')
    onRefreshed(core, owner.dialog, { message, status });
  if (!owner?.app) return;
  const isAnswer = transaction.method === 'INVITE' && status >= 200 && status < 300;
  // The application that called is gone, and its CANCEL has crossed the answer.
  if (isAnswer && !core.apps.has(owner.app) && !owner.dialog?.isConfirmed) {
    endOther(core, transaction, { message, source });
    return;
  }
  if (transaction.method === 'INVITE')
    owner.dialog = followInvite(core, transaction, { message, source, status });
  if (status < 200 && owner.dialog && !isNext(owner.dialog, message)) return;
  deliver(owner.app, core, message, {
    peer: source,
    transactionId: transaction.id,
    dialogId: owner.dialog?.id ?? '',
    receivedOn: [],
  });
}

/**
 * Updates the dialog of an INVITE after a response. A refusal removes an early dialog, and one that this
 * server was to take over; within any other confirmed dialog it only refuses the change.
 */
function followInvite(
  core: Core,
  transaction: ClientTransaction,
  response: { message: SipMessage; source: Peer; status: number },
): Dialog | null {
  if (response.status < 300) return updateDialog(core, transaction, response);
  const dialog = core.owners.get(transaction)?.dialog ?? null;
  if (dialog?.isConfirmed === false) forgetEarly(core, dialog);
  else if (dialog && (isGone(response.status) || isRefusedHere(dialog, transaction)))
    core.dialogs.remove(dialog);
  return dialog;
}

/** Whether the peer refuses the last attempt to make this server that of the dialog. */
function isRefusedHere({ isOnApproval, ownInvite }: Dialog, transaction: ClientTransaction): boolean {
  return isOnApproval && ownInvite === transaction;
}

/** Removes the other early dialogs of the same INVITE; `except` has answered. */
function forgetEarly(core: Core, { callId, localTag }: Dialog, except: Dialog | null = null): void {
  for (const early of core.dialogs.early(callId, localTag)) if (early !== except) core.dialogs.remove(early);
}

/**
 * True once for each provisional response, in order: a reliable one is repeated until its PRACK arrives (RFC
 * 3262 §4).
 */
function isNext(dialog: Dialog, message: SipMessage): boolean {
  const rseq = Number(header(message, 'rseq') ?? Number.NaN);
  if (!Number.isSafeInteger(rseq)) return true;
  if (dialog.remoteRseq !== 0 && rseq !== dialog.remoteRseq + 1) return false;
  dialog.remoteRseq = rseq;
  return true;
}

/**
 * True for a 2xx from a second peer, or one that arrives after the call was given up (RFC 3261 §13.2.2.4).
 */
function isLateAnswer(core: Core, transaction: ClientTransaction, { start, headers }: SipMessage): boolean {
  if (
    transaction.state !== 'completed' ||
    start.kind !== 'response' ||
    start.status < 200 ||
    start.status >= 300
  )
    return false;
  const taken = core.owners.get(transaction)?.dialog;
  return !taken?.isConfirmed || taken.remoteTag !== parameter(header({ headers }, 'to') ?? '', 'tag');
}

/** Acknowledges such an answer and hangs up. */
function endOther(
  core: Core,
  transaction: ClientTransaction,
  { message: answer, source }: Pick<ReceivedResponse, 'message' | 'source'>,
): void {
  const app = core.owners.get(transaction)?.app;
  const tag = parameter(header(answer, 'to') ?? '', 'tag') ?? '';
  const known = transaction.otherAcks.get(tag);
  if (known !== undefined) core.send(known, source);
  if (known !== undefined || !app) return;
  const dialog = dialogOf(core, transaction, { app, message: answer, source });
  const { message } = dialogRequest(core, dialog, {
    method: 'ACK',
    cseq: dialog.inviteCseq,
    headers: [],
    body: '',
  });
  const ack = formatMessage(message);
  transaction.otherAcks.set(tag, ack);
  core.send(ack, dialogPeer(core, dialog));
  hangUp(core, dialog);
}

/**
 * Handles the answer to a refresh of ours. After a refusal the interval runs out, unless the peer does not
 * know the call.
 */
function onRefreshed(
  core: Core,
  dialog: Dialog | null,
  { message, status }: { message: SipMessage; status: number },
): void {
  if (!dialog || core.dialogs.get(dialog.id) !== dialog) return;
  if (status >= 200 && status < 300) restartTimer(core, dialog, timerOfResponse(message));
  else if (isGone(status)) loseDialog(core, dialog);
}

/** The peer no longer knows the dialog or cannot be reached: the dialog is over (RFC 3261 §12.2.1.2). */
function isGone(status: number): boolean {
  return status === 481 || status === 408;
}

/** There was no answer: the application gets the response the peer would have sent (RFC 3261 §8.1.3.1). */
export function unanswered(core: Core, transaction: ClientTransaction, status: 408 | 503): void {
  const owner = core.owners.get(transaction);
  if (!owner?.app) return;
  if (transaction.method === 'INVITE' && owner.dialog) core.dialogs.remove(owner.dialog);
  const same = (name: string) => ({ name, value: header(transaction.request, name.toLowerCase()) ?? '' });
  const message: SipMessage = {
    start: { kind: 'response', status, reason: status === 408 ? 'Request Timeout' : 'Service Unavailable' },
    headers: [
      { name: 'Via', value: headerList(transaction.request, 'via')[0] ?? '' },
      same('From'),
      same('To'),
      same('Call-ID'),
      same('CSeq'),
    ],
    body: '',
  };
  deliver(owner.app, core, message, {
    peer: transaction.peer,
    transactionId: transaction.id,
    dialogId: owner.dialog?.id ?? '',
    receivedOn: [],
  });
}

/** The ACK of a refusal is part of the INVITE's transaction (RFC 3261 §17.1.1.3). */
function acknowledgeRefusal(transaction: ClientTransaction, refusal: SipMessage): void {
  const { request } = transaction;
  if (request.start.kind !== 'request') return;
  const same = (name: string) => ({ name, value: header(request, name.toLowerCase()) ?? '' });
  const ack: SipMessage = {
    start: { kind: 'request', method: 'ACK', uri: request.start.uri },
    headers: [
      { name: 'Via', value: headerList(request, 'via')[0] ?? '' },
      { name: 'Max-Forwards', value: '70' },
      same('From'),
      { name: 'To', value: header(refusal, 'to') ?? '' },
      same('Call-ID'),
      { name: 'CSeq', value: `${parseCseq(request)?.number ?? 1} ACK` },
      ...headerList(request, 'route').map((value) => ({ name: 'Route', value })),
    ],
    body: '',
  };
  transaction.acknowledge(formatMessage(ack));
}

/** The dialog that a provisional response or a 2xx creates or updates (RFC 3261 §12.1.2, §13.2.2.4). */
function updateDialog(
  core: Core,
  transaction: ClientTransaction,
  response: { message: SipMessage; source: Peer; status: number },
): Dialog | null {
  const owner = core.owners.get(transaction);
  if (!owner?.app) return null;
  const dialog = owner.dialog?.isConfirmed
    ? owner.dialog
    : earlyDialog(core, transaction, { app: owner.app, ...response });
  dialog.target = contactUri(response.message) ?? dialog.target;
  dialog.peer = response.source;
  if (response.status >= 200) {
    if (!dialog.isConfirmed) forgetEarly(core, dialog, dialog);
    dialog.isConfirmed = true;
    dialog.isOnApproval = false;
    dialog.acceptedInvite = transaction;
    // We did not offer to refresh.
    const timer = timerOfResponse(response.message);
    restartTimer(core, dialog, timer?.isOurs ? null : timer);
  }
  return dialog;
}

interface ReceivedResponse {
  readonly app: App;
  readonly message: SipMessage;
  readonly source: Peer;
}

/**
 * The dialog with the sender of this response: a forked INVITE rings several peers, each with a tag of its
 * own (RFC 3261 §12.1.2).
 */
function earlyDialog(core: Core, transaction: ClientTransaction, answer: ReceivedResponse): Dialog {
  const to = header(answer.message, 'to') ?? '';
  const tag = parameter(to, 'tag');
  const localTag = parameter(header(transaction.request, 'from') ?? '', 'tag') ?? '';
  const known = core.dialogs.early(header(transaction.request, 'call-id') ?? '', localTag);
  const dialog =
    known.find(({ remoteTag }) => remoteTag === tag || remoteTag === null) ??
    dialogOf(core, transaction, answer);
  dialog.remoteParty = to;
  dialog.remoteTag = tag;
  dialog.routes = headerList(answer.message, 'record-route').reverse();
  return dialog;
}

function dialogOf(
  core: Core,
  transaction: ClientTransaction,
  { app, message, source }: ReceivedResponse,
): Dialog {
  const [from, to] = [header(transaction.request, 'from') ?? '', header(message, 'to') ?? ''];
  const cseq = parseCseq(transaction.request)?.number ?? 1;
  const uri = transaction.request.start.kind === 'request' ? transaction.request.start.uri : '';
  return core.dialogs.add({
    app,
    callId: header(transaction.request, 'call-id') ?? '',
    localTag: parameter(from, 'tag') ?? '',
    localParty: from,
    remoteTag: parameter(to, 'tag'),
    remoteParty: to,
    target: contactUri(message) ?? uri,
    routes: headerList(message, 'record-route').reverse(),
    localCseq: cseq,
    inviteCseq: cseq,
    remoteCseq: null,
    isServer: false,
    isConfirmed: false,
    hasLeft: false,
    peer: source,
    pendingInvite: null,
    acceptedInvite: null,
  });
}

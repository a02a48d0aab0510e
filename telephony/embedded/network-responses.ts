/** Responses from the network, and requests that got none: matched to what was sent, acknowledged where the server must, handed to the application. */
import { type Core, deliver, loseDialog } from './core.ts';
import type { Dialog } from './dialog.ts';
import { contactUri, formatMessage, header, headerList, parameter, parseCseq, type SipMessage } from './message.ts';
import { restartTimer, timerOfResponse } from './session-timer.ts';
import type { ClientTransaction } from './transaction.ts';
import type { Peer } from './transport.ts';

/** A response came in. */
export function onResponse(core: Core, message: SipMessage, source: Peer): void {
  const cseq = parseCseq(message);
  const branch = parameter(headerList(message, 'via')[0] ?? '', 'branch');
  if (message.start.kind !== 'response' || !cseq || branch === null) {
    core.metrics.malformed += 1;
    return;
  }
  const { status } = message.start;
  const transaction = core.clients.byKey.get(`${branch}\n${cseq.method}`);
  if (!transaction?.receive(status)) return;
  if (transaction.method === 'INVITE' && status >= 300) acknowledgeRefusal(transaction, message);
  if (status === 100) return;
  const owner = core.owners.get(transaction);
  if (owner && !owner.app && transaction.method === 'UPDATE') onRefreshed(core, owner.dialog, { message, status });
  if (!owner?.app) return;
  if (transaction.method === 'INVITE') owner.dialog = followInvite(core, transaction, { message, source, status });
  deliver(owner.app, core, message, { peer: source, transactionId: transaction.id, dialogId: owner.dialog?.id ?? '', receivedOn: [] });
}

/** The dialog of an INVITE after a response to it. A refusal frees an early one; inside a confirmed one it only refuses the change. */
function followInvite(core: Core, transaction: ClientTransaction, response: { message: SipMessage; source: Peer; status: number }): Dialog | null {
  if (response.status < 300) return updateDialog(core, transaction, response);
  const dialog = core.owners.get(transaction)?.dialog ?? null;
  if (dialog && (!dialog.isConfirmed || isGone(response.status))) core.dialogs.remove(dialog);
  return dialog;
}

/** The answer to a refresh of ours. A refusal leaves the interval to run out, unless the call is unknown there. */
function onRefreshed(core: Core, dialog: Dialog | null, { message, status }: { message: SipMessage; status: number }): void {
  if (!dialog || core.dialogs.get(dialog.id) !== dialog) return;
  if (status >= 200 && status < 300) restartTimer(core, dialog, timerOfResponse(message));
  else if (isGone(status)) loseDialog(core, dialog);
}

/** The other side knows the dialog no more, or cannot be reached: it is over (RFC 3261 §12.2.1.2). */
function isGone(status: number): boolean {
  return status === 481 || status === 408;
}

/** There is no answer: the application is told so as if the other side had said it (RFC 3261 §8.1.3.1). */
export function unanswered(core: Core, transaction: ClientTransaction, status: 408 | 503): void {
  const owner = core.owners.get(transaction);
  if (!owner?.app) return;
  if (transaction.method === 'INVITE' && owner.dialog) core.dialogs.remove(owner.dialog);
  const same = (name: string) => ({ name, value: header(transaction.request, name.toLowerCase()) ?? '' });
  const message: SipMessage = {
    start: { kind: 'response', status, reason: status === 408 ? 'Request Timeout' : 'Service Unavailable' },
    headers: [{ name: 'Via', value: headerList(transaction.request, 'via')[0] ?? '' }, same('From'), same('To'), same('Call-ID'), same('CSeq')],
    body: '',
  };
  deliver(owner.app, core, message, { peer: transaction.peer, transactionId: transaction.id, dialogId: owner.dialog?.id ?? '', receivedOn: [] });
}

/** The ACK of a refusal belongs to the INVITE's own transaction (RFC 3261 §17.1.1.3). */
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

/** The dialog a provisional response or a 2xx makes or moves on (RFC 3261 §12.1.2, §13.2.2.4). */
function updateDialog(core: Core, transaction: ClientTransaction, response: { message: SipMessage; source: Peer; status: number }): Dialog | null {
  const owner = core.owners.get(transaction);
  const to = header(response.message, 'to') ?? '';
  const from = header(transaction.request, 'from') ?? '';
  if (!owner?.app) return null;
  const cseq = parseCseq(transaction.request)?.number ?? 1;
  const dialog =
    owner.dialog ??
    core.dialogs.add({
      app: owner.app,
      callId: header(transaction.request, 'call-id') ?? '',
      localTag: parameter(from, 'tag') ?? '',
      localParty: from,
      remoteTag: null,
      remoteParty: to,
      target: transaction.request.start.kind === 'request' ? transaction.request.start.uri : '',
      routes: [],
      localCseq: cseq,
      inviteCseq: cseq,
      remoteCseq: null,
      isServer: false,
      isConfirmed: false,
      hasLeft: false,
      peer: response.source,
      pendingInvite: null,
      acceptedInvite: null,
    });
  const isFirst = !dialog.isConfirmed;
  if (isFirst && !dialog.isServer) {
    dialog.remoteParty = to;
    dialog.remoteTag = parameter(to, 'tag');
    dialog.routes = headerList(response.message, 'record-route').reverse();
  }
  dialog.target = contactUri(response.message) ?? dialog.target;
  dialog.peer = response.source;
  if (response.status >= 200) {
    dialog.isConfirmed = true;
    dialog.acceptedInvite = transaction;
    // We did not offer to refresh.
    const timer = timerOfResponse(response.message);
    restartTimer(core, dialog, timer?.isOurs ? null : timer);
  }
  return dialog;
}

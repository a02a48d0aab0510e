/** Requests inside a dialog, and the ACK that completes one (RFC 3261 §12.2.2, §13.3.1.4). */
import { type Core, deliver } from './core.ts';
import type { Dialog } from './dialog.ts';
import { contactUri, header, parameter, parseCseq, type SipMessage } from './message.ts';
import { isRefresh, RETRY_SOON, refusalInDialog } from './request-rules.ts';
import { hand, openTransaction, reply } from './server-transactions.ts';
import type { ServerTransaction } from './transaction.ts';
import type { Peer } from './transport.ts';
import { askWorkers } from './unknown-dialogs.ts';

/** Handles a request with a To tag. */
export function onInDialog(
  core: Core,
  request: SipMessage,
  from: { readonly source: Peer; readonly key: string; readonly method: string; readonly cseq: number },
): void {
  const dialog = dialogOf(core, request);
  const transaction = openTransaction(core, request, { ...from, app: dialog?.app ?? null, dialog });
  if (!dialog) {
    askWorkers(core, transaction);
    return;
  }
  const refusal = refusalInDialog(transaction, { dialog, cseq: from.cseq });
  if (refusal) {
    reply(core, transaction, refusal.status, refusal.headers);
    return;
  }
  dialog.remoteCseq = from.cseq;
  dialog.peer = from.source;
  // A caller who hangs up has received the answer, even if the ACK was lost.
  if (from.method === 'BYE') dialog.pendingInvite?.acknowledge();
  if (!core.apps.has(dialog.app)) {
    onRequestDuringFailover(core, transaction, dialog);
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

/** Handles an ACK: of a refusal, or of the answer that confirms a dialog. */
export function onAck(
  core: Core,
  request: SipMessage,
  from: { readonly source: Peer; readonly known: ServerTransaction | undefined },
): void {
  if (from.known && from.known.status >= 300) {
    from.known.acknowledge();
    return;
  }
  const dialog = dialogOf(core, request);
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

/** The dialog a request belongs to; null without one. */
function dialogOf(core: Core, request: SipMessage): Dialog | null {
  const toTag = parameter(header(request, 'to') ?? '', 'tag');
  if (toTag === null) return null;
  return core.dialogs.find(
    header(request, 'call-id') ?? '',
    toTag,
    parameter(header(request, 'from') ?? '', 'tag'),
  );
}

/** Acknowledges a reliable provisional response (RFC 3262 §3); a PRACK of anything else is refused. */
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

/** The call waits for failover: a BYE is accepted, any other request must be retried. */
function onRequestDuringFailover(core: Core, transaction: ServerTransaction, dialog: Dialog): void {
  if (transaction.method !== 'BYE') {
    reply(core, transaction, 500, RETRY_SOON);
    return;
  }
  reply(core, transaction, 200);
  dialog.hasLeft = true;
}

/**
 * Server transactions of requests from the network: opened, answered, handed to an application, and given up
 * when an answer or acknowledgement is missing (RFC 3261 §17.2).
 */
import type { App } from './app-protocol.ts';
import { type Core, deliver, loseDialog, ownHostPort } from './core.ts';
import type { Dialog } from './dialog.ts';
import { header, longName, parameter, parseCseq, type SipHeader, type SipMessage } from './message.ts';
import { REASONS, sendResponse } from './responses.ts';
import { ServerTransaction } from './transaction.ts';
import type { Peer } from './transport.ts';
import { replyPeer } from './via.ts';

/** Opens the transaction of a request. */
export function openTransaction(
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

/** Sends a response without a body. */
export function reply(
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

/** Hands a request to an application, which answers it. */
export function hand(core: Core, transaction: ServerTransaction, app: App, dialog: Dialog | null): void {
  core.owners.set(transaction, { app, dialog });
  const [host = '', port = ''] = ownHostPort(core, transaction.peer).split(/:(?=\d+$)/);
  deliver(app, core, transaction.request, {
    peer: transaction.peer,
    transactionId: transaction.id,
    dialogId: dialog?.id ?? '',
    receivedOn: dialog ? [] : [host, port],
  });
}

/** Registers a new INVITE; false if it already arrived by another path and was not refused. */
export function isFirst(core: Core, transaction: ServerTransaction): boolean {
  const key = requestKey(transaction.request);
  const before = core.invites.get(key);
  if (before !== undefined && before.status < 300) return false;
  core.invites.set(key, transaction);
  return true;
}

/** Identifies a request outside a dialog, whatever its path (RFC 3261 §8.2.2.2). */
function requestKey(request: SipMessage): string {
  const fromTag = parameter(header(request, 'from') ?? '', 'tag') ?? '';
  return `${header(request, 'call-id') ?? ''}\n${fromTag}\n${header(request, 'cseq') ?? ''}`;
}

/** Delivers a CANCEL under the transaction of the INVITE it ends. */
export function deliverCancel(core: Core, invite: ServerTransaction, app: App, cancel: SipMessage): void {
  deliver(app, core, cancel, { peer: invite.peer, transactionId: invite.id, dialogId: '', receivedOn: [] });
}

/** The CANCEL of an INVITE, for an application that had not received the INVITE yet (RFC 3261 §9.1). */
export function cancelOf(invite: SipMessage): SipMessage {
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

/**
 * The caller never acknowledged our 2xx: the dialog ends with a BYE, and its application is notified (RFC
 * 3261 §13.3.1.4).
 */
function onAckTimeout(core: Core, transaction: ServerTransaction): void {
  const dialog = core.owners.get(transaction)?.dialog;
  if (!dialog || core.dialogs.get(dialog.id) !== dialog) return;
  loseDialog(core, dialog);
}

/** Refuses an INVITE that an application may still be handling; the application sees a CANCEL. */
function giveUp(core: Core, invite: ServerTransaction, status: number): void {
  const app = core.owners.get(invite)?.app;
  reply(core, invite, status);
  if (app) deliverCancel(core, invite, app, cancelOf(invite.request));
}

/** An unanswered request other than INVITE has expired and needs no response (RFC 4320 §4.1). */
function onUnanswered(core: Core, transaction: ServerTransaction): void {
  if (transaction.method === 'INVITE') giveUp(core, transaction, 500);
  else forget(core, transaction);
}

function forget(core: Core, transaction: ServerTransaction): void {
  core.servers.byKey.delete(transaction.key);
  core.servers.byId.delete(transaction.id);
  core.owners.delete(transaction);
  core.asked.delete(transaction);
  const key = requestKey(transaction.request);
  if (core.invites.get(key) === transaction) core.invites.delete(key);
}

/**
 * Commands of applications to the embedded server (drachtio's `sip` command): responses to requests they
 * received, requests within a dialog, new requests, CANCEL and ACK.
 */
import { REBIND_HEADER } from '#protocol/worker-watch.ts';
import { type App, type AppCommand, isSameWorker } from './app-protocol.ts';
import {
  type Core,
  dialogPeer,
  dialogRequest,
  metaTokens,
  newCallId,
  newTag,
  newVia,
  ownContact,
  ownHostPort,
  ownReach,
  passedHeaders,
  peerOf,
  startClient,
} from './core.ts';
import type { Dialog } from './dialog.ts';
import {
  formatMessage,
  header,
  headerList,
  parameter,
  parseCseq,
  parseMessage,
  type SipMessage,
  type StatusLine,
} from './message.ts';
import { unanswered } from './network-responses.ts';
import { sendResponse } from './responses.ts';
import type { ClientTransaction } from './transaction.ts';
import type { Peer } from './transport.ts';
import { isNotMine } from './unknown-dialogs.ts';

const REBIND = REBIND_HEADER.toLowerCase();

/** Executes one `sip` command and answers it. */
export function onAppCommand(core: Core, app: App, command: AppCommand): void {
  const [transactionId = '', dialogId = '', proxyUri = ''] = command.tokens;
  const message = parseMessage(withoutLength(command.raw));
  if (!message) {
    app.answer(command.messageId, false, ['not a SIP message']);
    return;
  }
  const { start } = message;
  if (start.kind === 'response')
    respond(core, app, { messageId: command.messageId, transactionId, message, start });
  else if (start.method === 'CANCEL' && transactionId !== '')
    cancel(core, app, command.messageId, transactionId);
  else if (start.method === 'ACK')
    acknowledge(core, app, { messageId: command.messageId, dialogId, message });
  else if (dialogId !== '')
    requestInDialog(core, app, { messageId: command.messageId, dialogId, message, method: start.method });
  else
    newRequest(core, app, {
      messageId: command.messageId,
      message,
      method: start.method,
      uri: proxyUri === '' ? start.uri : proxyUri,
    });
}

/** drachtio-srf writes `Content-Length: 0` into messages with a body; the length is recomputed. */
function withoutLength(raw: string): string {
  return raw.replace(/\r\ncontent-length[ \t]*:[^\r]*/i, '');
}

function respond(
  core: Core,
  app: App,
  answer: { messageId: string; transactionId: string; message: SipMessage; start: StatusLine },
): void {
  if (core.watch?.takeAnswer(app, answer.transactionId, answer.message)) {
    app.answer(answer.messageId, true);
    return;
  }
  const transaction = core.servers.byId.get(answer.transactionId);
  if (!transaction || transaction.isFinal) {
    app.answer(answer.messageId, false, [
      transaction ? 'transaction already completed' : 'unknown transaction',
    ]);
    return;
  }
  if (isNotMine(core, transaction, app, answer.start.status)) {
    app.answer(answer.messageId, true);
    return;
  }
  const text = sendResponse(core, transaction, {
    start: answer.start,
    headers: passedHeaders(answer.message),
    body: answer.message.body,
    toTag: parameter(header(answer.message, 'to') ?? '', 'tag'),
  });
  const dialog = core.owners.get(transaction)?.dialog ?? null;
  if (transaction.method === 'BYE' && dialog) core.dialogs.remove(dialog);
  const meta = metaTokens(core, 'application', text, transaction.peer);
  app.answer(answer.messageId, true, [...meta, transaction.id, dialog?.id ?? '', '', 'Msg sent:', ''], text);
}

function requestInDialog(
  core: Core,
  app: App,
  request: { messageId: string; dialogId: string; message: SipMessage; method: string },
): void {
  const dialog = core.dialogs.get(request.dialogId);
  // A worker whose call another one has taken must not hang up on it.
  const isTaken = dialog !== null && dialog.app !== app && core.apps.has(dialog.app);
  if (!dialog || isTaken) {
    app.answer(request.messageId, false, ['unknown dialog']);
    return;
  }
  dialog.localCseq += 1;
  if (request.method === 'INVITE') {
    dialog.inviteCseq = dialog.localCseq;
    dialog.acceptedInvite = null;
  }
  const peer = dialogPeer(core, dialog);
  const headers = passedHeaders(request.message, request.method === 'INVITE' ? ['contact', REBIND] : []);
  if (request.method === 'INVITE')
    headers.push({ name: 'Contact', value: ownContact(core, peer, dialog.target) });
  const { branch, message } = dialogRequest(core, dialog, {
    method: request.method,
    cseq: dialog.localCseq,
    headers,
    body: request.message.body,
  });
  const transaction = send(core, app, {
    messageId: request.messageId,
    branch,
    message,
    method: request.method,
    peer,
    dialog,
  });
  if (request.method === 'INVITE') dialog.ownInvite = transaction;
  if (request.method === 'BYE') core.dialogs.remove(dialog);
}

/**
 * An INVITE with both tags is a re-INVITE of a dialog that belonged to another application, or that an
 * earlier run of this server knew; the dialog now belongs to this application. Null: a new call. `taken`:
 * this application has lost the dialog to another one.
 */
function adoptDialog(
  core: Core,
  app: App,
  { message, uri }: { message: SipMessage; uri: string },
): Dialog | 'taken' | null {
  const [localParty, remoteParty] = [header(message, 'from') ?? '', header(message, 'to') ?? ''];
  const [localTag, remoteTag] = [parameter(localParty, 'tag'), parameter(remoteParty, 'tag')];
  const peer = peerOf(core, uri);
  if (localTag === null || remoteTag === null || peer === null) return null;
  const callId = header(message, 'call-id') ?? '';
  const cseq = (parseCseq(message)?.number ?? 1) - 1;
  const existing = core.dialogs.find(callId, localTag, remoteTag);
  const isRebind = header(message, REBIND) !== null;
  if (existing) {
    if (isRebind && isAnothers(core, app, existing)) return 'taken';
    existing.app = app;
    // A failover that is refused must be able to hang up here.
    if (!isRebind) existing.isOnApproval = false;
    // Another server may have sent requests of this dialog since.
    existing.localCseq = Math.max(existing.localCseq, cseq);
    return existing;
  }
  const dialog = core.dialogs.add({
    app,
    callId,
    localTag,
    localParty,
    remoteTag,
    remoteParty,
    peer,
    target: uri,
    routes: headerList(message, 'route'),
    localCseq: cseq,
    inviteCseq: cseq,
    remoteCseq: null,
    isServer: false,
    isConfirmed: true,
    hasLeft: false,
    pendingInvite: null,
    acceptedInvite: null,
  });
  dialog.isOnApproval = isRebind;
  return dialog;
}

/** Whether a connected worker other than that of `app` has the dialog. */
function isAnothers(core: Core, app: App, dialog: Dialog): boolean {
  return core.apps.has(dialog.app) && !isSameWorker(dialog.app, app);
}

/** Whether this hangs up a call that another worker has taken: a BYE that comes late must not end it. */
function isLateBye(core: Core, app: App, { method, message }: NewRequest): boolean {
  if (method !== 'BYE') return false;
  const tagOf = (name: 'from' | 'to') => parameter(header(message, name) ?? '', 'tag') ?? '';
  const dialog = core.dialogs.find(header(message, 'call-id') ?? '', tagOf('from'), tagOf('to'));
  return dialog !== null && isAnothers(core, app, dialog);
}

/** A request outside the dialogs that the server names to its applications. */
interface NewRequest {
  readonly messageId: string;
  readonly message: SipMessage;
  readonly method: string;
  readonly uri: string;
}

function newRequest(core: Core, app: App, request: NewRequest): void {
  const adopted = request.method === 'INVITE' ? adoptDialog(core, app, request) : null;
  if (adopted === 'taken' || isLateBye(core, app, request)) {
    app.answer(request.messageId, false, ['unable to find dialog: another worker has it']);
    return;
  }
  if (adopted?.hasLeft) {
    core.dialogs.remove(adopted);
    app.answer(request.messageId, false, ['unable to find dialog: the other side has hung up']);
    return;
  }
  if (adopted) {
    requestInDialog(core, app, { ...request, dialogId: adopted.id });
    return;
  }
  const peer = peerOf(core, request.uri);
  if (!peer || request.message.start.kind !== 'request') {
    app.answer(request.messageId, false, ['the request URI cannot be reached']);
    return;
  }
  const { branch, via } = newVia(core, peer);
  const own = ownHostPort(core, peer);
  const from = party(header(request.message, 'from') ?? `<sip:${own}>`, own);
  const contact = header(request.message, 'contact');
  const message: SipMessage = {
    start: request.message.start,
    headers: [
      via,
      { name: 'Max-Forwards', value: '70' },
      ...headerList(request.message, 'route').map((value) => ({ name: 'Route', value })),
      { name: 'From', value: parameter(from, 'tag') === null ? `${from};tag=${newTag()}` : from },
      { name: 'To', value: header(request.message, 'to') ?? `<${calledUri(request.message.start.uri)}>` },
      { name: 'Call-ID', value: header(request.message, 'call-id') ?? newCallId() },
      // A retry with digest credentials brings its own CSeq.
      { name: 'CSeq', value: header(request.message, 'cseq') ?? `1 ${request.method}` },
      {
        name: 'Contact',
        value:
          contact === null
            ? ownContact(core, peer, request.uri)
            : secured(party(contact, ownReach(core, peer)), request.uri),
      },
      ...passedHeaders(request.message, ['contact']),
    ],
    body: request.message.body,
  };
  send(core, app, {
    messageId: request.messageId,
    branch,
    message,
    method: request.method,
    peer,
    dialog: null,
  });
}

function send(
  core: Core,
  app: App,
  request: {
    readonly messageId: string;
    readonly branch: string;
    readonly message: SipMessage;
    readonly method: string;
    readonly peer: Peer;
    readonly dialog: Dialog | null;
  },
): ClientTransaction {
  const transaction = startClient(core, request, {
    app,
    dialog: request.dialog,
    onFailed: (late, status) => unanswered(core, late, status),
  });
  const text = formatMessage(request.message);
  app.answer(
    request.messageId,
    true,
    [...metaTokens(core, 'application', text, request.peer), transaction.id, 'Msg sent:', ''],
    text,
  );
  return transaction;
}

/**
 * drachtio-srf acknowledges every final response; the application sends only the ACK of a 2xx (RFC 3261
 * §13.2.2.4).
 */
function acknowledge(
  core: Core,
  app: App,
  ack: { messageId: string; dialogId: string; message: SipMessage },
): void {
  const dialog = ack.dialogId === '' ? null : core.dialogs.get(ack.dialogId);
  if (!dialog?.acceptedInvite) {
    const isRefusal = dialog !== null || ack.dialogId === '';
    app.answer(ack.messageId, isRefusal, isRefusal ? [] : ['unknown dialog']);
    return;
  }
  const peer = dialogPeer(core, dialog);
  const { message } = dialogRequest(core, dialog, {
    method: 'ACK',
    cseq: dialog.inviteCseq,
    headers: passedHeaders(ack.message, ['contact']),
    body: ack.message.body,
  });
  const text = formatMessage(message);
  dialog.acceptedInvite.acknowledge(text, peer);
  app.answer(
    ack.messageId,
    true,
    [...metaTokens(core, 'application', text, peer), ack.dialogId, 'Msg sent:', ''],
    text,
  );
}

function cancel(core: Core, app: App, messageId: string, transactionId: string): void {
  const invite = core.clients.byId.get(transactionId);
  const text = invite?.method === 'INVITE' ? cancelInvite(core, invite) : null;
  if (!invite || text === null) {
    app.answer(messageId, false, ['unknown transaction']);
    return;
  }
  app.answer(
    messageId,
    true,
    [...metaTokens(core, 'application', text, invite.peer), invite.id, 'Msg sent:', ''],
    text,
  );
}

/**
 * Cancels an INVITE of ours: returns its CANCEL (RFC 3261 §9.1), sent as soon as that is allowed; null if
 * there is no such INVITE.
 */
export function cancelInvite(core: Core, invite: ClientTransaction): string | null {
  if (invite.request.start.kind !== 'request') return null;
  const same = (name: string) => ({ name, value: header(invite.request, name.toLowerCase()) ?? '' });
  const message: SipMessage = {
    start: { kind: 'request', method: 'CANCEL', uri: invite.request.start.uri },
    headers: [
      { name: 'Via', value: headerList(invite.request, 'via')[0] ?? '' },
      { name: 'Max-Forwards', value: '70' },
      same('From'),
      same('To'),
      same('Call-ID'),
      { name: 'CSeq', value: `${parseCseq(invite.request)?.number ?? 1} CANCEL` },
      ...headerList(invite.request, 'route').map((value) => ({ name: 'Route', value })),
    ],
    body: '',
  };
  const branch = parameter(headerList(invite.request, 'via')[0] ?? '', 'branch') ?? '';
  invite.whenProceeding(() => {
    startClient(
      core,
      { branch, message, method: 'CANCEL', peer: invite.peer },
      { app: null, dialog: null, onFailed: () => undefined },
    );
    invite.cancelled();
  });
  return formatMessage(message);
}

/** A party as an application writes it: replaces `@localhost` by the server's own address. */
function party(value: string, own: string): string {
  const placed = value.replace(/@localhost(?=[;>]|$)/, `@${own}`);
  return placed.includes('<') ? placed : `<${placed}>`;
}

/** The Request-URI as To has it: the transport is a matter of the hop (RFC 3261 §19.1.1). */
function calledUri(uri: string): string {
  return uri.replace(/;transport=[^;?]*/i, '');
}

/** A caller of a secure URI needs a secure Contact (RFC 3261 §8.1.1.8). */
function secured(contact: string, uri: string): string {
  return /^sips:/i.test(uri) ? contact.replace(/<sip:/i, '<sips:') : contact;
}

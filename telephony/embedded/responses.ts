/** Responses as the server writes them: its own, and those of applications. */
import { EXTENSIONS } from '../extensions.ts';
import { ALLOW } from '../methods.ts';
import type { App } from './app-protocol.ts';
import { type Core, newTag, ownContact } from './core.ts';
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
  type StatusLine,
  uriOf,
} from './message.ts';
import { agreeTimer, restartTimer, type SessionTimer, timerHeaders } from './session-timer.ts';
import type { ServerTransaction } from './transaction.ts';

/** Value of the header of this name. */
export const SUPPORTED = EXTENSIONS.join(', ');

/** The response to write; a null tag is generated. */
export interface Response {
  readonly start: StatusLine;
  readonly headers: readonly SipHeader[];
  readonly body: string;
  readonly toTag: string | null;
}

/**
 * Writes and sends a response. The first one to an INVITE that creates a dialog creates it here (RFC 3261
 * §12.1.1).
 */
export function sendResponse(core: Core, transaction: ServerTransaction, response: Response): string {
  const { request, method } = transaction;
  const { status } = response.start;
  const side = ownSide(core, transaction, response);
  const isReliable =
    method === 'INVITE' && status > 100 && status < 200 && requires(response.headers, '100rel');
  if (isReliable) transaction.rseq += 1;
  const isRefreshed = refreshes(method, status);
  const timer = isRefreshed ? agreeTimer(request) : null;
  const more = [
    ...(isRefreshed ? refreshHeaders(timer, request) : []),
    ...(isReliable ? [rseqOf(transaction)] : []),
    // An application lists its own capabilities in its responses.
    ...(status === 405 && header(response, 'allow') === null ? [{ name: 'Allow', value: ALLOW }] : []),
  ];
  const headers = [...response.headers, ...more];
  const text = formatMessage(
    writeResponse(core, transaction, { ...response, headers, localParty: side.localParty }),
  );
  const dialog = dialogOf(core, transaction, { ...side, status });
  if (dialog && method === 'INVITE') followAnswer(dialog, transaction, { status, isReliable });
  if (isReliable) transaction.respondReliably(status, text);
  else transaction.respond(status, text);
  if (isRefreshed && dialog && core.dialogs.get(dialog.id)) restartTimer(core, dialog, timer);
  // A refusal removes an early dialog; within a confirmed dialog it only refuses the change.
  if (method === 'INVITE' && status >= 300 && dialog?.isConfirmed === false) core.dialogs.remove(dialog);
  return text;
}

/**
 * Our tag and the To header with it: the tag of the request, the dialog or the application, or else a new
 * one.
 */
function ownSide(
  core: Core,
  transaction: ServerTransaction,
  response: Response,
): { readonly localTag: string; readonly localParty: string } {
  const to = header(transaction.request, 'to') ?? '';
  const given = parameter(to, 'tag');
  const localTag = given ?? core.owners.get(transaction)?.dialog?.localTag ?? response.toTag ?? newTag();
  return {
    localTag,
    localParty: given === null && response.start.status > 100 ? `${to};tag=${localTag}` : to,
  };
}

/** The dialog of a response; creates it if the response creates one. */
function dialogOf(
  core: Core,
  transaction: ServerTransaction,
  side: { readonly localTag: string; readonly localParty: string; readonly status: number },
): Dialog | null {
  const owner = core.owners.get(transaction);
  if (owner?.app && transaction.method === 'INVITE' && side.status > 100 && side.status < 300) {
    const routes = headerList(transaction.request, 'record-route');
    owner.dialog ??= makeServerDialog(core, transaction, {
      app: owner.app,
      localParty: side.localParty,
      localTag: side.localTag,
      routes,
    });
  }
  return owner?.dialog ?? null;
}

/** What the dialog waits for after this response: a PRACK, or the ACK of a 2xx. */
function followAnswer(
  dialog: Dialog,
  transaction: ServerTransaction,
  { status, isReliable }: { status: number; isReliable: boolean },
): void {
  if (isReliable) dialog.unpracked = transaction;
  if (status < 200 || status >= 300) return;
  dialog.isConfirmed = true;
  dialog.pendingInvite = transaction;
}

function refreshHeaders(timer: SessionTimer | null, request: SipMessage): SipHeader[] {
  return [{ name: 'Supported', value: SUPPORTED }, ...timerHeaders(timer, request)];
}

function rseqOf({ rseq }: ServerTransaction): SipHeader {
  return { name: 'RSeq', value: String(rseq) };
}

function requires(headers: readonly SipHeader[], option: string): boolean {
  return headerList({ headers }, 'require').some((each) => each.toLowerCase() === option);
}

/** True for the 2xx that restarts session timers (RFC 4028 §3). */
function refreshes(method: string, status: number): boolean {
  return status >= 200 && status < 300 && (method === 'INVITE' || method === 'UPDATE');
}

/**
 * Headers the server adds to an application's response: those copied from the request, and a Contact if it
 * creates a dialog.
 */
function writeResponse(
  core: Core,
  { request, method, peer }: ServerTransaction,
  response: {
    readonly start: StatusLine;
    readonly headers: readonly SipHeader[];
    readonly body: string;
    readonly localParty: string;
  },
): SipMessage {
  const { status, reason } = response.start;
  const same = (name: string) => ({ name, value: header(request, name.toLowerCase()) ?? '' });
  const all = (name: string) => headerList(request, name.toLowerCase()).map((value) => ({ name, value }));
  const isDialogMaking =
    status > 100 && status < 300 && (method === 'INVITE' || method === 'SUBSCRIBE' || method === 'UPDATE');
  const hasContact = response.headers.some((entry) => longName(entry.name) === 'contact');
  return {
    start: { ...response.start, reason: reason === '' ? (REASONS[status] ?? 'Unknown') : reason },
    headers: [
      ...all('Via'),
      ...(isDialogMaking ? all('Record-Route') : []),
      same('From'),
      { name: 'To', value: response.localParty },
      same('Call-ID'),
      same('CSeq'),
      ...(isDialogMaking && !hasContact
        ? [
            {
              name: 'Contact',
              value: ownContact(core, peer, request.start.kind === 'request' ? request.start.uri : ''),
            },
          ]
        : []),
      ...response.headers,
    ],
    body: response.body,
  };
}

function makeServerDialog(
  core: Core,
  transaction: ServerTransaction,
  side: { app: App; localParty: string; localTag: string; routes: readonly string[] },
): Dialog {
  const from = header(transaction.request, 'from') ?? '';
  return core.dialogs.add({
    app: side.app,
    callId: header(transaction.request, 'call-id') ?? '',
    localTag: side.localTag,
    localParty: side.localParty,
    remoteTag: parameter(from, 'tag'),
    remoteParty: from,
    target: contactUri(transaction.request) ?? uriOf(from),
    routes: side.routes,
    localCseq: 0,
    inviteCseq: 0,
    remoteCseq: parseCseq(transaction.request)?.number ?? null,
    isServer: true,
    isConfirmed: false,
    hasLeft: false,
    peer: transaction.peer,
    pendingInvite: null,
    acceptedInvite: null,
  });
}

/** Reason phrases for responses without one (RFC 3261 §21). */
export const REASONS: Readonly<Record<number, string>> = {
  100: 'Trying',
  180: 'Ringing',
  183: 'Session Progress',
  200: 'OK',
  202: 'Accepted',
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  415: 'Unsupported Media Type',
  416: 'Unsupported URI Scheme',
  420: 'Bad Extension',
  422: 'Session Interval Too Small',
  480: 'Temporarily Unavailable',
  481: 'Call/Transaction Does Not Exist',
  482: 'Loop Detected',
  486: 'Busy Here',
  487: 'Request Terminated',
  488: 'Not Acceptable Here',
  491: 'Request Pending',
  500: 'Server Internal Error',
  503: 'Service Unavailable',
  504: 'Server Time-out',
  505: 'Version Not Supported',
};

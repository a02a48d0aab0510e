/**
 * State shared by the two sides of the embedded server: sockets, transactions, dialogs, counters, and how
 * messages are written and passed to applications.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { hostPort, isPublicAddress } from '#base/public-address.ts';
import type { TokenBucket } from '#base/token-bucket.ts';
import type { AdmissionAnswer, AdmissionRequest } from '#protocol/sip-admission.ts';
import type { SignallingReport } from '#protocol/worker-watch.ts';
import { localAddressFor } from '../local-address.ts';
import type { App } from './app-protocol.ts';
import type { AppWatch } from './app-watch.ts';
import type { Dialog, DialogTable } from './dialog.ts';
import { formatMessage, longName, parseUri, type SipHeader, type SipMessage, uriOf } from './message.ts';
import { ClientTransaction, type ServerTransaction } from './transaction.ts';
import type { Peer, SipTls } from './transport.ts';
import { defaultPort } from './via.ts';

/** Options of the embedded signalling server. */
export interface SignallingOptions {
  /** Records the message being handled, for the report if this process hangs and is killed. */
  readonly noteActivity?: ((what: string) => void) | undefined;
  readonly sipHost: string;
  /** 0 picks a free port. */
  readonly sipPort: number;
  readonly publicIp: string | undefined;
  /** Absent: SIP over TLS is disabled in both directions. */
  readonly tls?: SipTls | null;
  readonly appHost: string;
  readonly appPort: number;
  readonly secret: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Longest wait of an answered call for failover after it lost its worker, ms; default 20 s. */
  readonly failoverMs?: number;
  /** Reports to a control plane which workers answer; absent: they are not watched. */
  readonly reportWorkers?: ((report: SignallingReport) => Promise<void>) | undefined;
  /** Decides on every new INVITE; rejects if the control plane cannot be reached. */
  admit(request: AdmissionRequest): Promise<AdmissionAnswer>;
}

/** Counters since the start. */
export interface SignallingMetrics {
  malformed: number;
  flooded: number;
  invites: number;
  refused: number;
  dialogsLost: number;
}

/** A request of an unknown dialog, and the workers that are asked about it. */
interface Question {
  /** Those whose answer is awaited. */
  readonly workers: Set<App>;
  /** A worker was lost before it answered: perhaps it was its call. */
  isDoubtful: boolean;
}

/** The state of one server. */
export interface Core {
  readonly options: SignallingOptions;
  readonly dialogs: DialogTable;
  readonly apps: ReadonlySet<App>;
  readonly servers: {
    readonly byKey: Map<string, ServerTransaction>;
    readonly byId: Map<string, ServerTransaction>;
  };
  readonly clients: {
    readonly byKey: Map<string, ClientTransaction>;
    readonly byId: Map<string, ClientTransaction>;
  };
  /** New INVITEs by identity, whatever their path: the same one by a second path is refused. */
  readonly invites: Map<string, ServerTransaction>;
  /** The application that received a server transaction, and its dialog. */
  readonly owners: Map<
    ServerTransaction | ClientTransaction,
    { readonly app: App | null; dialog: Dialog | null }
  >;
  /** Requests of unknown dialogs, while workers are asked whose they are. */
  readonly asked: Map<ServerTransaction, Question>;
  readonly questions: TokenBucket;
  /** Run while answered calls wait for failover. */
  readonly graceTimers: Set<Timer>;
  readonly metrics: SignallingMetrics;
  /** Null if workers are not watched. */
  readonly watch: AppWatch | null;
  sipPort: number;
  /** Null if TLS is disabled. */
  tlsPort: number | null;
  send(text: string, peer: Peer): void;
  /** False over TCP and TLS once the connection is gone. */
  isConnected(peer: Peer): boolean;
}

/** Headers that the server writes itself; an application's values are ignored. */
const OWN_HEADERS = new Set([
  'via',
  'from',
  'to',
  'call-id',
  'cseq',
  'content-length',
  'max-forwards',
  'route',
  'record-route',
  'session-expires',
]);

/** Address of this server as the peer sees it, `host:port`. */
export function ownHostPort(core: Core, peer: Peer): string {
  const address = localAddressFor(peer.address, {
    boundHost: core.options.sipHost,
    publicIp: core.options.publicIp,
  });
  const port = peer.transport === 'tls' ? (core.tlsPort ?? core.sipPort) : core.sipPort;
  return hostPort(address, port);
}

/**
 * A Contact at which the peer can reach this server; a secure one if the dialled `uri` is secure (RFC 3261
 * §8.1.1.8).
 */
export function ownContact(core: Core, peer: Peer, uri: string): string {
  return `<${/^sips:/i.test(uri) ? 'sips' : 'sip'}:${ownReach(core, peer)}>`;
}

/** Our own address with the URI parameter of the transport. */
export function ownReach(core: Core, peer: Peer): string {
  return `${ownHostPort(core, peer)}${peer.transport === 'udp' ? '' : `;transport=${peer.transport}`}`;
}

/** A new Via and its branch (RFC 3261 §8.1.1.7). */
export function newVia(core: Core, peer: Peer): { branch: string; via: SipHeader } {
  const branch = `z9hG4bK${randomBytes(9).toString('hex')}`;
  return {
    branch,
    via: {
      name: 'Via',
      value: `SIP/2.0/${peer.transport.toUpperCase()} ${ownHostPort(core, peer)};branch=${branch};rport`,
    },
  };
}

export function newTag(): string {
  return randomBytes(6).toString('hex');
}

/** The headers to pass on of an application's message. */
export function passedHeaders(message: SipMessage, alsoOwn: readonly string[] = []): SipHeader[] {
  const headers = message.headers.filter(
    (entry) => !OWN_HEADERS.has(longName(entry.name)) && !alsoOwn.includes(longName(entry.name)),
  );
  if (message.body !== '' && !headers.some((entry) => longName(entry.name) === 'content-type'))
    headers.push({ name: 'Content-Type', value: 'application/sdp' });
  return headers;
}

/**
 * Destination of a URI that we have written. `tls-name`, a parameter of our own, is the name the certificate
 * must match.
 */
export function peerOf(core: Core, uri: string): Peer | null {
  const peer = namedPeer(core, uri);
  const name = peer?.transport === 'tls' ? /;tls-name=([^;?>\s]+)/i.exec(uri)?.[1] : undefined;
  return peer && name !== undefined ? { ...peer, name } : peer;
}

/**
 * Destination of any URI; null if the URI is invalid, or secure while TLS is disabled. Host names are left
 * for the socket to resolve.
 */
function namedPeer(core: Core, uri: string): Peer | null {
  const parsed = parseUri(uri);
  if (!parsed) return null;
  const isSecure = /^sips:/i.test(uri) || parsed.transport === 'tls';
  if (isSecure && core.tlsPort === null) return null;
  const transport = isSecure ? 'tls' : parsed.transport === 'tcp' ? 'tcp' : 'udp';
  return { transport, address: parsed.host, port: parsed.port ?? defaultPort(transport) };
}

/**
 * Destination of a request within a dialog: the first route, or else the target; over the connection the peer
 * used if there is one to that address. If the destination is a host name or invalid, the request goes to the
 * address the peer last sent from. The same applies if a peer on the public internet names a private address:
 * that is behind its NAT, or a machine of our own network it must not reach.
 *
 * Once a connection that the caller opened is gone, nobody listens at its far end. The request then goes to
 * the target, also to a host name if TLS proves it. After a call over TLS the target must have TLS as well,
 * because requests contain the keys of the audio.
 */
export function dialogPeer(core: Core, dialog: Dialog): Peer {
  const { peer, isServer, routes } = dialog;
  const [first] = routes;
  const next = namedPeer(core, first === undefined ? dialog.target : uriOf(first));
  if (next === null) return peer;
  const isGone = isServer && !core.isConnected(peer);
  const isProven = next.transport === 'tls';
  const isSame = first === undefined || next.address === peer.address;
  const isLeft = isGone && (isProven || peer.transport !== 'tls');
  if (peer.transport !== 'udp' && isSame && !isLeft) return peer;
  const mustBePublic = isPublicAddress(peer.address);
  if (isIP(next.address) === 0) return isGone && isProven ? { ...next, mustBePublic } : peer;
  return isPublicAddress(next.address) || !mustBePublic ? next : peer;
}

/** Builds a request within a dialog. */
export function dialogRequest(
  core: Core,
  dialog: Dialog,
  request: { method: string; cseq: number; headers: readonly SipHeader[]; body: string },
): { branch: string; message: SipMessage } {
  const { branch, via } = newVia(core, dialogPeer(core, dialog));
  return {
    branch,
    message: {
      start: { kind: 'request', method: request.method, uri: dialog.target },
      headers: [
        via,
        { name: 'Max-Forwards', value: '70' },
        { name: 'From', value: dialog.localParty },
        { name: 'To', value: dialog.remoteParty },
        { name: 'Call-ID', value: dialog.callId },
        { name: 'CSeq', value: `${request.cseq} ${request.method}` },
        ...dialog.routes.map((route) => ({ name: 'Route', value: route })),
        ...request.headers,
      ],
      body: request.body,
    },
  };
}

/** Sends a request in a client transaction of its own. `app` null: its responses are not passed on. */
export function startClient(
  core: Core,
  request: {
    readonly branch: string;
    readonly message: SipMessage;
    readonly method: string;
    readonly peer: Peer;
  },
  owner: {
    readonly app: App | null;
    readonly dialog: Dialog | null;
    onFailed(transaction: ClientTransaction, status: 408 | 503): void;
  },
): ClientTransaction {
  const transaction: ClientTransaction = new ClientTransaction(
    { clock: core.options.clock, send: (text, peer) => core.send(text, peer) },
    {
      key: `${request.branch}\n${request.method}`,
      message: request.message,
      text: formatMessage(request.message),
      method: request.method,
      peer: request.peer,
    },
    {
      onFailed: (status) => owner.onFailed(transaction, status),
      onDone: () => {
        core.clients.byKey.delete(transaction.key);
        core.clients.byId.delete(transaction.id);
        core.owners.delete(transaction);
      },
    },
  );
  core.clients.byKey.set(transaction.key, transaction);
  core.clients.byId.set(transaction.id, transaction);
  core.owners.set(transaction, { app: owner.app, dialog: owner.dialog });
  transaction.start();
  return transaction;
}

/** The tokens for where a message came from or went to, and when. */
export function metaTokens(core: Core, source: 'network' | 'application', raw: string, peer: Peer): string[] {
  const time = new Date(core.options.clock.wallTime()).toISOString().slice(11, 23);
  return [
    source,
    String(Buffer.byteLength(raw)),
    peer.transport,
    peer.address,
    String(peer.port),
    `${time}000`,
  ];
}

/** Passes a message from the network to an application, with compact header names expanded. */
export function deliver(
  app: App,
  core: Core,
  message: SipMessage,
  from: {
    readonly peer: Peer;
    readonly transactionId: string;
    readonly dialogId: string;
    readonly receivedOn: readonly string[];
  },
): void {
  const raw = formatMessage({
    ...message,
    headers: message.headers.map(({ name, value }) => ({
      name: name.length === 1 ? capitalised(longName(name)) : name,
      value,
    })),
  });
  app.deliver(
    [
      'sip',
      ...metaTokens(core, 'network', raw, from.peer),
      from.transactionId,
      from.dialogId,
      ...from.receivedOn,
      '',
    ],
    raw,
  );
}

/** Ends a dialog with a BYE that no application requested. */
export function hangUp(core: Core, dialog: Dialog): string {
  dialog.localCseq += 1;
  const { branch, message } = dialogRequest(core, dialog, {
    method: 'BYE',
    cseq: dialog.localCseq,
    headers: [],
    body: '',
  });
  core.dialogs.remove(dialog);
  startClient(
    core,
    { branch, message, method: 'BYE', peer: dialogPeer(core, dialog) },
    { app: null, dialog: null, onFailed: () => undefined },
  );
  return formatMessage(message);
}

/** Ends a dialog whose peer is gone: sends BYE in case it is not, and reports the end to the application. */
export function loseDialog(core: Core, dialog: Dialog): void {
  core.metrics.dialogsLost += 1;
  const text = hangUp(core, dialog);
  dialog.app.deliver(
    ['sip', ...metaTokens(core, 'application', text, dialog.peer), 'unsolicited', dialog.id, ''],
    text,
  );
}

export function newCallId(): string {
  return randomUUID();
}

function capitalised(name: string): string {
  return name
    .replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase())
    .replace('Call-Id', 'Call-ID')
    .replace('Cseq', 'CSeq');
}

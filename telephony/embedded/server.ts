/**
 * The embedded signalling: a SIP server (UDP, TCP and TLS) for applications that speak drachtio's protocol,
 * used if no drachtio-server is configured. It owns transactions, retransmissions and dialogs; the control
 * plane (admission) and the worker (the application) decide what happens to a call.
 */
import { isDeepStrictEqual } from 'node:util';
import { TokenBucket } from '#base/token-bucket.ts';
import { cancelInvite, onAppCommand } from './app-commands.ts';
import { type App, isSameWorker, openAppPort } from './app-protocol.ts';
import { AppWatch } from './app-watch.ts';
import {
  type Core,
  deliver,
  hangUp,
  ownHostPort,
  type SignallingMetrics,
  type SignallingOptions,
} from './core.ts';
import { DialogTable } from './dialog.ts';
import { ANSWERS, FloodGate } from './flood-gate.ts';
import type { SipMessage } from './message.ts';
import { onRequest, refuseStateless } from './network-requests.ts';
import { onResponse } from './network-responses.ts';
import { readMessage } from './read-message.ts';
import { REASONS, sendResponse } from './responses.ts';
import { openTransports, type Peer } from './transport.ts';
import { QUESTIONS, withoutWorker } from './unknown-dialogs.ts';

/** A running server. */
export interface EmbeddedSignalling {
  readonly sipPort: number;
  /** Null if TLS is disabled. */
  readonly tlsPort: number | null;
  readonly appPort: number;
  metrics(): Readonly<SignallingMetrics> & {
    readonly dialogs: number;
    readonly transactions: number;
    /** Connected workers. */
    readonly workers: number;
  };
  close(): Promise<void>;
}

/**
 * Longest wait of an answered call for failover: as long as the control plane tries it. The loss of a machine
 * takes some seconds to be certain.
 */
const FAILOVER_TIMEOUT_MS = 20_000;
/** Via and CSeq of a response to us are among the first characters. */
const HEAD_CHARACTERS = 2_000;
const TRANSPORTS = ['udp', 'tcp', 'tls'] as const;

/** Starts the server; rejects if an address cannot be bound. */
export async function startEmbeddedSignalling(options: SignallingOptions): Promise<EmbeddedSignalling> {
  const gate = new FloodGate(options.clock);
  const answers = new FloodGate(options.clock, ANSWERS);
  const metrics: SignallingMetrics = { malformed: 0, flooded: 0, invites: 0, refused: 0, dialogsLost: 0 };
  const onMessage = (text: string, source: Peer): boolean => {
    if (!(isAwaited(core, text) ? answers : gate).lets(source.address)) {
      metrics.flooded += 1;
      return false;
    }
    options.noteActivity?.(`a SIP message of ${text.length} characters from ${source.address}`);
    return handleMessage(core, text, source);
  };
  const onUnreachable = (peer: Peer) => failRequestsTo(core, peer);
  const { clock, sipHost: host, sipPort: port, tls = null } = options;
  const transports = await openTransports({ host, port, tls, clock, onMessage, onUnreachable });
  const appPort = await openAppPort({
    host: options.appHost,
    port: options.appPort,
    secret: options.secret,
    hostPorts: () => TRANSPORTS.flatMap((transport) => hostPortOf(core, transport)),
    onSip: (app, command) => {
      try {
        onAppCommand(core, app, command);
      } catch (error) {
        options.logger.error({ err: error }, 'a command of an application failed');
        app.answer(command.messageId, false, ['internal error']);
      }
    },
    onForget: (app, dialogId) => forgetDialog(core, app, dialogId),
    onLost: (app) => releaseApp(core, app),
  }).catch(async (error: unknown) => {
    await transports.close();
    throw error;
  });
  const { logger, reportWorkers: report, secret } = options;
  const ports = { sipPort: transports.port, tlsPort: transports.tlsPort };
  const core: Core = {
    options,
    watch: report ? new AppWatch({ clock, logger, secret, apps: appPort.apps, report }) : null,
    metrics,
    dialogs: new DialogTable(),
    apps: appPort.apps,
    servers: { byKey: new Map(), byId: new Map() },
    clients: { byKey: new Map(), byId: new Map() },
    invites: new Map(),
    owners: new Map(),
    asked: new Map(),
    questions: new TokenBucket(clock, QUESTIONS),
    graceTimers: new Set(),
    ...ports,
    send: (text, peer) => transports.send(text, peer),
    isConnected: (peer) => transports.isConnected(peer),
  };
  return {
    ...ports,
    appPort: appPort.port,
    metrics: () => ({
      ...metrics,
      dialogs: core.dialogs.size,
      transactions: core.servers.byId.size + core.clients.byId.size,
      workers: core.apps.size,
    }),
    async close() {
      for (const transaction of [...core.servers.byId.values(), ...core.clients.byId.values()])
        transaction.close();
      core.watch?.close();
      await appPort.close();
      for (const timer of core.graceTimers) timer.cancel();
      core.dialogs.close();
      await transports.close();
    },
  };
}

/** A peer's connection failed: requests to it fail at once. */
function failRequestsTo(core: Core, peer: Peer): void {
  for (const transaction of [...core.clients.byId.values()])
    if (isDeepStrictEqual(transaction.peer, peer)) transaction.unreachable();
}

/** Handles one message; false if it is not SIP or failed. */
function handleMessage(core: Core, text: string, source: Peer): boolean {
  try {
    const received = readMessage(text);
    if (received.is !== 'message') core.metrics.malformed += 1;
    if (received.is === 'refused') refuseStateless(core, received, source);
    if (received.is === 'message' && received.message.start.kind === 'request')
      onRequest(core, received.message, source);
    if (received.is === 'message' && received.message.start.kind === 'response')
      onResponse(core, received.message, source);
    return received.is === 'message';
  } catch (error) {
    // A message that cannot be handled must not stop the next one.
    core.metrics.malformed += 1;
    core.options.logger.error({ err: error }, 'a SIP message could not be handled and is dropped');
    return false;
  }
}

/** The dialog belongs to another server now. Its worker learns if the peer hung up here meanwhile. */
function forgetDialog(core: Core, app: App, dialogId: string): void {
  const dialog = core.dialogs.get(dialogId);
  if (!dialog || !isSameWorker(dialog.app, app)) return;
  core.dialogs.remove(dialog);
  if (!dialog.hasLeft) return;
  const bye: SipMessage = {
    start: { kind: 'request', method: 'BYE', uri: `sip:${ownHostPort(core, dialog.peer)}` },
    headers: [
      { name: 'Via', value: 'SIP/2.0/TCP parley.invalid;branch=z9hG4bKbefore' },
      { name: 'From', value: dialog.remoteParty },
      { name: 'To', value: dialog.localParty },
      { name: 'Call-ID', value: dialog.callId },
      { name: 'CSeq', value: `${dialog.remoteCseq ?? 1} BYE` },
    ],
    body: '',
  };
  const receivedOn = ['parley.invalid', String(core.sipPort)];
  deliver(app, core, bye, { peer: dialog.peer, transactionId: 'before', dialogId: '', receivedOn });
}

/** Whether the text seems to be the response to a request of ours, whose branch nobody can guess. */
function isAwaited(core: Core, text: string): boolean {
  if (!text.startsWith('SIP/2.0 ')) return false;
  const head = text.slice(0, HEAD_CHARACTERS);
  const branch = /;branch=(z9hG4bK[0-9a-f]{18})/.exec(head)?.[1];
  const method = /\ncseq:[ \t]*\d{1,10}[ \t]+([A-Z]{1,20})/i.exec(head)?.[1];
  return core.clients.byKey.has(`${branch}\n${method}`);
}

/** The address of this server for one transport, as drachtio writes it. */
function hostPortOf(core: Core, transport: Peer['transport']): string[] {
  if (transport === 'tls' && core.tlsPort === null) return [];
  return [`${transport}/${ownHostPort(core, { transport, address: '127.0.0.1', port: 0 })}`];
}

/**
 * The connection of a worker has closed. Its answered calls wait for failover: to another worker if it died,
 * or back to it if only its connection broke. Calls that find no worker in time are hung up, so that no
 * caller stays on an open line. Calls still ringing are cancelled.
 */
function releaseApp(core: Core, app: App): void {
  for (const dialog of core.dialogs.of(app)) if (!dialog.isConfirmed) core.dialogs.remove(dialog);
  const timer = core.options.clock.after(core.options.failoverMs ?? FAILOVER_TIMEOUT_MS, () => {
    core.graceTimers.delete(timer);
    for (const dialog of core.dialogs.of(app)) {
      core.metrics.dialogsLost += 1;
      if (dialog.hasLeft) core.dialogs.remove(dialog);
      else hangUp(core, dialog);
    }
  });
  core.graceTimers.add(timer);
  for (const transaction of [...core.clients.byId.values()]) {
    const owner = core.owners.get(transaction);
    if (
      transaction.method === 'INVITE' &&
      transaction.state !== 'completed' &&
      owner?.app === app &&
      !owner.dialog?.isConfirmed
    )
      cancelInvite(core, transaction);
  }
  withoutWorker(core, app);
  for (const transaction of [...core.servers.byId.values()]) {
    if (core.owners.get(transaction)?.app !== app || transaction.isFinal) continue;
    if (core.asked.has(transaction)) continue;
    sendResponse(core, transaction, {
      start: { kind: 'response', status: 503, reason: REASONS[503] ?? '' },
      headers: [],
      body: '',
      toTag: null,
    });
  }
}

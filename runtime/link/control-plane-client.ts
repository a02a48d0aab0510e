/**
 * The worker's end of the worker link: registers, keeps the connection, answers offers, and resends durable
 * reports until they are acknowledged. Calls do not notice a lost link: reports wait in the spool.
 */
import { type ClientOptions, WebSocket } from 'ws';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { parseJson } from '#base/parse-json.ts';
import { OWN_ABILITIES } from '#protocol/worker-abilities.ts';
import {
  type ControlMessage,
  controlMessage,
  type DurableReport,
  HEARTBEAT_MS,
  type JobKind,
  type ReportEnvelope,
  WORKER_LINK_VERSION,
  type WorkerMessage,
} from '#protocol/worker-link.ts';
import { LinkOutage } from './link-outage.ts';
import { LinkOutbox } from './link-outbox.ts';
import { ridesAlong } from './rides-along.ts';
import { keyOf } from './session-key.ts';
import type { SpeakingLease } from './speaking-lease.ts';
import type { Spool } from './spool.ts';

/** The control plane answers heartbeats with pings; longer silence means a dead connection. */
const SILENCE_MS = 6_000;
/** Most reports of one session resent at once. */
const RESEND_AT_MOST = 100;

/** The worker's facts, read anew for each connection. */
export interface WorkerFacts {
  readonly instanceId: string;
  readonly supervisorRun: string | null;
  readonly capacity: number;
  readonly codecs: readonly string[];
  readonly sipTag: string | null;
  /** Names of the SIP servers that it is connected to. */
  readonly sipServers: readonly string[];
  /** It has loaded what web calls need; absent: it does not say. */
  readonly isWebReady?: boolean;
  readonly kinds: readonly JobKind[];
  readonly sessions: readonly { readonly sessionId: string; readonly epoch: number }[];
}

/** Dependencies of the client. */
export interface ControlPlaneClientDeps {
  /** `http(s)://host:port` of the control plane. */
  readonly url: string;
  readonly token: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly spool: Spool;
  /** Spools of dead instances: sent first, then removed. */
  readonly adopted: ReadonlyMap<string, Spool>;
  facts(): WorkerFacts;
  load(): { readonly calls: number; readonly freeSlots: number; readonly loopLagMs: number };
  onMessage(message: ControlMessage): void;
  /** Renewed by every answer of a control plane; absent: this worker may speak as long as it likes. */
  readonly lease?: SpeakingLease | undefined;
  /** The link has been down for `aloneMs`; called after every failed reconnection. */
  onAlone(aloneMs: number): void;
  /** Opens a connection; absent: over the network. */
  readonly openSocket?: (url: string, options: ClientOptions) => WebSocket;
}

/** The connection to the control plane. */
export interface ControlPlaneClient {
  readonly isConnected: boolean;
  /** Resolves when the control plane has registered this worker, or after `ms`. */
  connected(ms: number): Promise<void>;
  send(message: WorkerMessage): void;
  /** Has the control plane compare the sessions it has for this worker with those that run here. */
  registerAnew(): void;
  /** Keeps the report until it is acknowledged. */
  report(session: { readonly sessionId: string; readonly epoch: number }, report: DurableReport): void;
  /** Whether every report of the session is stored. Sends those that wait for another report. */
  isStored(session: { readonly sessionId: string; readonly epoch: number }): boolean;
  /** Sends the spools of instances that have ended meanwhile, then removes them. */
  adopt(spools: ReadonlyMap<string, Spool>): void;
  /** Resolves when no report is waiting, or after `ms`. */
  flushed(ms: number): Promise<void>;
  close(): void;
}

/** Connects, and reconnects whenever the link is lost. */
export function connectControlPlane(deps: ControlPlaneClientDeps): ControlPlaneClient {
  return new LinkClient(deps);
}

class LinkClient implements ControlPlaneClient {
  readonly #deps: ControlPlaneClientDeps;
  readonly #adopted: Map<string, Spool>;
  readonly #heartbeatTimer: Timer;
  readonly #outage: LinkOutage;
  #retryTimer: Timer | null = null;
  readonly #connectWaiters = new Set<() => void>();
  readonly #flushWaiters = new Set<() => void>();
  #socket: WebSocket | null = null;
  #outbox: LinkOutbox | null = null;
  #isRegistered = false;
  #isClosed = false;
  #lastHeardMs = 0;
  #lastError = '';
  /** Unsent reports by session, sent with the session's next report or at the latest with the heartbeat. */
  readonly #unsent = new Map<string, readonly ReportEnvelope[]>();
  /** The last resend requested, by session: every report behind a gap names it, and it is filled once. */
  readonly #resent = new Map<string, { readonly fromSeq: number; readonly atMs: number }>();
  /** Lapses of the lease before this registration, and when it was sent, monotonic, ms. */
  #registration = { lapses: 0, sentMs: 0 };
  /** The first waiting report of each session at the last heartbeat. */
  #firstWaiting = new Map<string, number>();

  constructor(deps: ControlPlaneClientDeps) {
    this.#deps = deps;
    this.#adopted = new Map(deps.adopted);
    this.#outage = new LinkOutage(deps.clock);
    this.#heartbeatTimer = deps.clock.every(HEARTBEAT_MS, () => this.#heartbeat());
    this.#connect();
  }

  get isConnected(): boolean {
    return this.#isRegistered;
  }

  send(message: WorkerMessage): void {
    if (this.#isRegistered) this.#outbox?.put(message);
  }

  registerAnew(): void {
    if (this.#isRegistered) this.#socket?.terminate();
  }

  report(session: { readonly sessionId: string; readonly epoch: number }, report: DurableReport): void {
    const envelope = this.#deps.spool.append(session, report);
    const key = keyOf(session.sessionId, session.epoch);
    const unsent = [...(this.#unsent.get(key) ?? []), envelope];
    if (ridesAlong(report)) this.#unsent.set(key, unsent);
    else this.#sendAll(unsent);
  }

  connected(ms: number): Promise<void> {
    return this.#isRegistered ? Promise.resolve() : this.#waitIn(this.#connectWaiters, ms);
  }

  isStored(session: { readonly sessionId: string; readonly epoch: number }): boolean {
    this.#sendAll(this.#unsent.get(keyOf(session.sessionId, session.epoch)) ?? []);
    return this.#deps.spool.waiting({ ...session, fromSeq: 0 }).length === 0;
  }

  adopt(spools: ReadonlyMap<string, Spool>): void {
    for (const [instanceId, spool] of spools) this.#adopted.set(instanceId, spool);
    // Otherwise they are sent after the registration.
    if (!this.#isRegistered) return;
    for (const spool of spools.values()) this.#sendAll(spool.waiting());
    this.#afterAcknowledgement();
  }

  flushed(ms: number): Promise<void> {
    return this.#deps.spool.waiting().length === 0 ? Promise.resolve() : this.#waitIn(this.#flushWaiters, ms);
  }

  #waitIn(waiters: Set<() => void>, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const settle = () => {
        timer.cancel();
        waiters.delete(settle);
        resolve();
      };
      const timer = this.#deps.clock.after(ms, settle);
      waiters.add(settle);
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#heartbeatTimer.cancel();
    this.#retryTimer?.cancel();
    this.#outbox?.flush();
    this.#socket?.close();
  }

  #connect(): void {
    if (this.#isClosed) return;
    const { url, token, clock, logger, openSocket = overNetwork } = this.#deps;
    const socket = openSocket(`${url.replace(/^http/, 'ws')}/internal/worker-link`, {
      headers: { authorization: `Bearer ${token}` },
      handshakeTimeout: SILENCE_MS,
      maxPayload: 64 * 1024 * 1024,
    });
    this.#socket = socket;
    this.#outbox = new LinkOutbox(socket, clock);
    socket.on('open', () => this.#register(socket));
    socket.on('message', (data) => {
      this.#lastHeardMs = clock.now();
      this.#receive(String(data));
    });
    socket.on('ping', () => {
      this.#lastHeardMs = clock.now();
    });
    socket.on('pong', (sentMs) => {
      if (socket === this.#socket) this.#heard(Number(String(sentMs)));
    });
    socket.on('error', (error) => {
      this.#lastError = error.message;
      logger.debug({ err: error }, 'worker link');
    });
    socket.on('close', () => this.#lost(socket));
  }

  /** After a lapse, only a new registration shows which sessions are still here. */
  #heard(sentMs: number): void {
    const { lease } = this.#deps;
    lease?.linked(sentMs);
    if (lease?.hasLapsed && lease.lapses !== this.#registration.lapses) this.#socket?.terminate();
  }

  #register(socket: WebSocket): void {
    const facts = this.#deps.facts();
    this.#lastHeardMs = this.#deps.clock.now();
    this.#registration = { lapses: this.#deps.lease?.lapses ?? 0, sentMs: this.#lastHeardMs };
    const message: WorkerMessage = {
      type: 'register',
      link_version: WORKER_LINK_VERSION,
      instance_id: facts.instanceId,
      supervisor_run: facts.supervisorRun,
      capacity: facts.capacity,
      codecs: [...facts.codecs],
      sip_tag: facts.sipTag,
      kinds: [...facts.kinds],
      sessions: facts.sessions.map((session) => ({ session_id: session.sessionId, epoch: session.epoch })),
      spools_of: [...this.#adopted.keys()],
      wall_time: this.#deps.clock.wallTime(),
      ...(this.#deps.lease && { awaits_check: true }),
      ...{ sip_servers: [...facts.sipServers], web_ready: facts.isWebReady },
      ...OWN_ABILITIES,
    };
    socket.send(JSON.stringify(message));
  }

  #lost(socket: WebSocket): void {
    if (this.#socket !== socket || this.#isClosed) return;
    this.#outbox?.flush();
    const { clock, logger } = this.#deps;
    if (this.#isRegistered) {
      this.#isRegistered = false;
      this.#outage.begin();
      logger.warn('link to the control plane lost; calls continue');
    }
    if (this.#outage.takeWarning())
      logger.warn(
        { url: this.#deps.url, cause: this.#lastError },
        'no link to the control plane (CONTROL_PLANE_URL, WORKER_TOKEN); still trying',
      );
    this.#guard(() => this.#deps.onAlone(this.#outage.durationMs));
    this.#retryTimer = clock.after(this.#outage.nextRetryMs(), () => this.#connect());
  }

  /** An error in one job must not end the process and every other call with it. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#deps.logger.error({ err: error }, 'worker');
    }
  }

  #receive(text: string): void {
    const message = parseJson(controlMessage, text);
    if (!message) {
      this.#deps.logger.warn('the control plane sent an invalid message; dropped');
      return;
    }
    switch (message.type) {
      case 'registered':
        this.#deps.lease?.registered(this.#registration.lapses, message.checks_sessions === true);
        this.#registered();
        break;
      case 'ack':
        this.#forEachSpool((spool) => spool.acknowledge(message.session_id, message.epoch, message.seq));
        this.#afterAcknowledgement();
        return;
      case 'stale':
        this.#unsent.delete(keyOf(message.session_id, message.epoch));
        this.#forEachSpool((spool) => spool.drop(message.session_id, message.epoch));
        this.#afterAcknowledgement();
        break;
      case 'sessions_checked':
        this.#deps.lease?.confirm(this.#registration);
        return;
      case 'resend':
        this.#resend({ sessionId: message.session_id, epoch: message.epoch, fromSeq: message.from_seq });
        return;
      default:
        break;
    }
    this.#guard(() => this.#deps.onMessage(message));
  }

  #registered(): void {
    this.#isRegistered = true;
    this.#outage.end();
    this.#resent.clear();
    for (const settle of [...this.#connectWaiters]) settle();
    this.#deps.logger.info({ waiting: this.#deps.spool.waiting().length }, 'connected to the control plane');
    this.#heartbeat();
    this.#forEachSpool((spool) => this.#sendAll(spool.waiting()));
    this.#afterAcknowledgement();
  }

  #resend(session: { readonly sessionId: string; readonly epoch: number; readonly fromSeq: number }): void {
    const key = keyOf(session.sessionId, session.epoch);
    const before = this.#resent.get(key);
    const nowMs = this.#deps.clock.now();
    if (before?.fromSeq === session.fromSeq && nowMs - before.atMs < HEARTBEAT_MS) return;
    this.#resent.set(key, { fromSeq: session.fromSeq, atMs: nowMs });
    this.#forEachSpool((spool) => {
      if (spool.isMissing(session)) {
        // A report missing from a dead instance's disk: reports behind the gap can never be accepted.
        this.#deps.logger.error(
          { sessionId: session.sessionId, fromSeq: session.fromSeq },
          'reports are missing; the rest of this session is dropped',
        );
        spool.drop(session.sessionId, session.epoch);
      } else this.#sendAll(spool.waiting(session).slice(0, RESEND_AT_MOST));
    });
    this.#afterAcknowledgement();
  }

  #sendAll(envelopes: readonly ReportEnvelope[]): void {
    for (const envelope of envelopes) {
      this.#unsent.delete(keyOf(envelope.session_id, envelope.epoch));
      this.send({ type: 'report', envelope });
    }
  }

  #afterAcknowledgement(): void {
    for (const [instanceId, spool] of this.#adopted) {
      if (spool.waiting().length > 0) continue;
      this.#adopted.delete(instanceId);
      const alive = spool.aliveAt && { alive_at: spool.aliveAt.toISOString() };
      this.send({ type: 'spool.flushed', instance_id: instanceId, ...alive });
      spool.close().catch((error: unknown) => this.#deps.logger.warn({ err: error }, 'spool'));
    }
    if (this.#deps.spool.waiting().length === 0) for (const settle of [...this.#flushWaiters]) settle();
  }

  #forEachSpool(visit: (spool: Spool) => void): void {
    visit(this.#deps.spool);
    for (const spool of this.#adopted.values()) visit(spool);
  }

  #heartbeat(): void {
    this.#deps.spool.touch(new Date(this.#deps.clock.wallTime()));
    if (
      this.#socket?.readyState === WebSocket.OPEN &&
      this.#deps.clock.now() - this.#lastHeardMs > SILENCE_MS
    ) {
      this.#socket.terminate();
      return;
    }
    if (!this.#isRegistered) return;
    if (this.#deps.lease) this.#socket?.ping(String(this.#deps.clock.now()));
    const { calls, freeSlots, loopLagMs } = this.#deps.load();
    const { sipServers, isWebReady } = this.#deps.facts();
    this.send({
      type: 'heartbeat',
      calls,
      free_slots: freeSlots,
      loop_lag_p95_ms: loopLagMs,
      sip_servers: [...sipServers],
      web_ready: isWebReady,
    });
    // A report that could not be stored gets no answer; the next heartbeat that finds it waiting resends it.
    this.#sendAll(this.#stuck());
  }

  /** Reports of each session whose first one has waited since the previous heartbeat. */
  #stuck(): readonly ReportEnvelope[] {
    const current = new Map<string, number>();
    const stuck: ReportEnvelope[] = [];
    this.#forEachSpool((spool) => {
      for (const envelope of spool.waiting()) {
        const key = keyOf(envelope.session_id, envelope.epoch);
        const first = current.get(key) ?? envelope.seq;
        current.set(key, first);
        if (this.#firstWaiting.get(key) === first && envelope.seq < first + RESEND_AT_MOST)
          stuck.push(envelope);
      }
    });
    this.#firstWaiting = current;
    return stuck;
  }
}

function overNetwork(url: string, options: ClientOptions): WebSocket {
  return new WebSocket(url, options);
}

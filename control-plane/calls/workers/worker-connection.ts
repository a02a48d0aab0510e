/**
 * One connected worker: its socket, registration, load and pending requests. Frames are validated against the
 * link's schema; invalid ones are dropped and logged.
 */
import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { parseJson } from '#base/parse-json.ts';
import {
  type ControlMessage,
  type WorkerAnswer,
  type WorkerMessage,
  workerMessage,
} from '#protocol/worker-link.ts';

type Registration = Extract<WorkerMessage, { type: 'register' }>;
/**
 * Result of an offer: `late` means that the worker did not answer in time, `lost` that its link broke; the
 * others are reasons for declining.
 */
export type OfferVerdict =
  | 'accepted'
  | 'late'
  | 'lost'
  | Extract<WorkerMessage, { type: 'decline' }>['reason'];

/** Options of a connection. */
export interface WorkerConnectionOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Maximum silence before the link counts as lost, ms. */
  readonly silenceMs: number;
  /**
   * Other replicas read in the database which workers this one hears. Its answer to a ping says that they
   * know, so it waits for `takePing`.
   */
  readonly isListed: boolean;
  onRegister(worker: WorkerConnection): void;
  onMessage(worker: WorkerConnection, message: WorkerMessage): void;
  /** Called only after `onRegister`. */
  onClose(worker: WorkerConnection): void;
}

/** A registered worker. */
export interface WorkerConnection {
  readonly registration: Registration;
  readonly load: { readonly calls: number; readonly freeSlots: number; readonly loopLagMs: number };
  /** Time since its last message, ms: the link may be lost without having been closed. */
  readonly silentMs: number;
  /** Names of the SIP servers that it is connected to; null from older workers, which do not say. */
  readonly sipServers: readonly string[] | null;
  /** It has loaded what web calls need, or is of an older version and does not say. */
  readonly isWebReady: boolean;
  send(message: ControlMessage): void;
  /** Takes the last unanswered ping, if `isListed`; the result answers it. */
  takePing(): () => void;
  /** Resolves with the worker's answer to an offer, or `late` after `ms`. */
  waitForVerdict(
    offer: { readonly sessionId: string; readonly epoch: number },
    ms: number,
  ): Promise<OfferVerdict>;
  /** Resolves with the answer to a request, or null after `ms` or when the link is lost. */
  waitForAnswer(requestId: string, ms: number): Promise<WorkerAnswer | null>;
  /** True if it answers a ping within `ms`: what is sent to it now arrives. */
  answersWithin(ms: number): Promise<boolean>;
  close(): void;
}

/** Maximum frame size from a worker: a full tool output plus headroom. */
export const MAX_LINK_FRAME_BYTES = 4 * 1024 * 1024;

/** Starts reading from a socket; its first message must register the worker. */
export function openWorkerConnection(socket: WebSocket, options: WorkerConnectionOptions): void {
  const { clock, logger } = options;
  let worker: SocketWorker | null = null;
  let lastHeardMs = clock.now();
  const silentMs = () => clock.now() - lastHeardMs;
  const watch = (): Timer =>
    clock.after(options.silenceMs - silentMs() + 1, () => {
      if (silentMs() > options.silenceMs) socket.terminate();
      else silence = watch();
    });
  let silence = watch();
  let wasPinged = false;
  /** By the ping the worker detects a dead connection. Without calls every second one is enough. */
  const answerHeartbeat = (calls: number) => {
    wasPinged = calls > 0 || !wasPinged;
    if (wasPinged && socket.readyState === socket.OPEN) socket.ping();
  };
  socket.on('ping', (data) => {
    lastHeardMs = clock.now();
    if (worker && options.isListed) worker.keepPing(data);
    else if (socket.readyState === socket.OPEN) socket.pong(data);
  });
  socket.on('pong', (data) => worker?.takePong(data));
  socket.on('message', (data) => {
    lastHeardMs = clock.now();
    const message = parseJson(workerMessage, String(data));
    if (!message) logger.warn('dropped an invalid message from a worker');
    else if (worker) {
      worker.take(message);
      if (message.type === 'heartbeat') answerHeartbeat(message.calls);
      options.onMessage(worker, message);
    } else if (message.type === 'register') {
      worker = new SocketWorker(socket, { clock, silentMs }, message);
      options.onRegister(worker);
    }
  });
  socket.on('error', (error) => logger.debug({ err: error }, 'error on a worker socket'));
  socket.on('close', () => {
    silence.cancel();
    worker?.abandon();
    if (worker) options.onClose(worker);
  });
}

class SocketWorker implements WorkerConnection {
  readonly registration: Registration;
  readonly load: { calls: number; freeSlots: number; loopLagMs: number };
  sipServers: readonly string[] | null;
  isWebReady: boolean;
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #silentMs: () => number;
  #ping: Buffer | null = null;
  /** Several replicas may have one job offered at the same time. */
  readonly #verdicts: Waiting<OfferVerdict> = new Map();
  readonly #answers: Waiting<WorkerAnswer | null> = new Map();
  readonly #pongs: Waiting<boolean> = new Map();

  constructor(
    socket: WebSocket,
    { clock, silentMs }: { readonly clock: Clock; readonly silentMs: () => number },
    registration: Registration,
  ) {
    this.#socket = socket;
    this.#clock = clock;
    this.#silentMs = silentMs;
    this.registration = registration;
    this.sipServers = registration.sip_servers ?? null;
    this.isWebReady = registration.web_ready ?? true;
    this.load = {
      calls: registration.sessions.length,
      freeSlots: registration.capacity - registration.sessions.length,
      loopLagMs: 0,
    };
  }

  get silentMs(): number {
    return this.#silentMs();
  }

  send(message: ControlMessage): void {
    this.#socket.send(JSON.stringify(message));
  }

  takePong(data: Buffer): void {
    settleAll(this.#pongs, String(data), true);
  }

  keepPing(data: Buffer): void {
    this.#ping = data;
  }

  takePing(): () => void {
    const [socket, ping] = [this.#socket, this.#ping];
    this.#ping = null;
    return () => {
      if (ping && socket.readyState === socket.OPEN) socket.pong(ping);
    };
  }

  waitForVerdict(
    offer: { readonly sessionId: string; readonly epoch: number },
    ms: number,
  ): Promise<OfferVerdict> {
    return this.#waitFor(this.#verdicts, key(offer.sessionId, offer.epoch), { ms, otherwise: 'late' });
  }

  waitForAnswer(requestId: string, ms: number): Promise<WorkerAnswer | null> {
    return this.#waitFor(this.#answers, requestId, { ms, otherwise: null });
  }

  answersWithin(ms: number): Promise<boolean> {
    const id = randomUUID();
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping(id);
    return this.#waitFor(this.#pongs, id, { ms, otherwise: false });
  }

  close(): void {
    this.#socket.terminate();
  }

  /** Resolves pending requests and updates the load. */
  take(message: WorkerMessage): void {
    switch (message.type) {
      case 'heartbeat':
        this.load.calls = message.calls;
        this.load.freeSlots = message.free_slots;
        this.load.loopLagMs = message.loop_lag_p95_ms;
        this.sipServers = message.sip_servers ?? null;
        this.isWebReady = message.web_ready ?? true;
        return;
      case 'accept':
        this.load.freeSlots -= 1;
        settleAll(this.#verdicts, key(message.session_id, message.epoch), 'accepted');
        return;
      case 'decline':
        if (message.reason !== 'unsupported') this.load.freeSlots = 0;
        settleAll(this.#verdicts, key(message.session_id, message.epoch), message.reason);
        return;
      case 'answer':
        settleAll(this.#answers, message.request_id, message.result);
        return;
      case 'register':
      case 'report':
      case 'live':
      case 'hand_over':
      case 'take_stream':
      case 'spool.flushed':
        return;
      default:
        message satisfies never;
    }
  }

  /** Settles all pending requests after the link is lost. */
  abandon(): void {
    for (const name of this.#verdicts.keys()) settleAll(this.#verdicts, name, 'lost');
    for (const name of this.#answers.keys()) settleAll(this.#answers, name, null);
    for (const name of this.#pongs.keys()) settleAll(this.#pongs, name, false);
  }

  #waitFor<Value>(
    waiting: Waiting<Value>,
    name: string,
    limit: { readonly ms: number; readonly otherwise: Value },
  ): Promise<Value> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(limit.ms, () => settle(limit.otherwise));
      const others = waiting.get(name) ?? new Set();
      const settle = (value: Value) => {
        timer.cancel();
        others.delete(settle);
        if (others.size === 0) waiting.delete(name);
        resolve(value);
      };
      waiting.set(name, others.add(settle));
    });
  }
}

/** Callbacks that settle pending requests, by the key of the request. */
type Waiting<Value> = Map<string, Set<(value: Value) => void>>;

function settleAll<Value>(waiting: Waiting<Value>, name: string, value: Value): void {
  for (const settle of waiting.get(name) ?? []) settle(value);
}

function key(sessionId: string, epoch: number): string {
  return `${sessionId}:${epoch}`;
}

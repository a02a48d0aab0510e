/**
 * The network between the machines of the fleet, and connections over it in the shape of WebSockets. As with
 * TCP, what is sent over a cut path arrives late and in order when the path is mended, and a killed process
 * closes its connections, while a machine without power closes none.
 */
import { EventEmitter } from 'node:events';
import type { WebSocket } from 'ws';
import type { Random } from '../simulation/random.ts';
import type { SimulatedClock } from '../simulation/simulated-clock.ts';
import type { VirtualProcess } from './virtual-process.ts';

const HANDSHAKE_MS = 6_000;
/** After a path is mended, what was lost is sent again. */
const RESENT_MS = 200;

/** Accepts connections for a process. */
export type Accept = (socket: WebSocket) => void;

/** The paths between machines, in each direction. */
export class Network {
  readonly clock: SimulatedClock;
  readonly #random: Random;
  readonly #cut = new Map<string, number>();
  readonly #delays = new Map<string, number>();
  readonly #listening = new Map<VirtualProcess, Accept>();
  readonly #sockets = new Set<VirtualSocket>();

  constructor(clock: SimulatedClock, random: Random) {
    this.clock = clock;
    this.#random = random;
  }

  listen(process: VirtualProcess, accept: Accept): void {
    this.#listening.set(process, accept);
  }

  stopListening(process: VirtualProcess): void {
    this.#listening.delete(process);
  }

  isListening(process: VirtualProcess): boolean {
    return process.isAlive && this.#listening.has(process);
  }

  /** Cuts the path in this direction until it is mended as often as it was cut. */
  cut(from: string, to: string): void {
    this.#cut.set(`${from}>${to}`, (this.#cut.get(`${from}>${to}`) ?? 0) + 1);
  }

  mend(from: string, to: string): void {
    const times = (this.#cut.get(`${from}>${to}`) ?? 0) - 1;
    if (times > 0) this.#cut.set(`${from}>${to}`, times);
    else this.#cut.delete(`${from}>${to}`);
    for (const socket of this.#sockets) socket.flush();
  }

  isCut(from: string, to: string): boolean {
    return this.#cut.size > 0 && this.#cut.has(`${from}>${to}`);
  }

  /** Adds a delay to the path in this direction. */
  delay(from: string, to: string, ms: number): void {
    if (ms > 0) this.#delays.set(`${from}>${to}`, ms);
    else this.#delays.delete(`${from}>${to}`);
  }

  /** Time for the next message on this path, ms. */
  delayMs(from: string, to: string): number {
    const extraMs = this.#delays.size > 0 ? (this.#delays.get(`${from}>${to}`) ?? 0) : 0;
    return this.#random.between(0.2, 1.5) + extraMs;
  }

  /** Connects a process to another; null: no process would answer. */
  connect(from: VirtualProcess, to: VirtualProcess | null): WebSocket {
    const near = new VirtualSocket(this, from, { answersPings: true });
    this.#sockets.add(near);
    const timeout = this.clock.after(HANDSHAKE_MS, () => near.fail('handshake has timed out'));
    near.once('open', () => timeout.cancel());
    near.once('close', () => timeout.cancel());
    if (!to) this.clock.after(1, () => near.fail('connect ECONNREFUSED'));
    else if (!this.isCut(from.host, to.host) && !this.isCut(to.host, from.host))
      this.clock.after(this.delayMs(from.host, to.host), () => this.#answer(near, to));
    return near as unknown as WebSocket;
  }

  /** The kernel closes the connections of a process that has ended. */
  closeAllOf(process: VirtualProcess): void {
    this.#listening.delete(process);
    for (const socket of [...this.#sockets]) if (socket.process === process) socket.hangUp();
  }

  /** Forgets the connections of a machine without power; its peers notice only by silence. */
  vanish(process: VirtualProcess): void {
    this.#listening.delete(process);
    for (const socket of [...this.#sockets]) if (socket.process === process) this.#sockets.delete(socket);
  }

  forget(socket: VirtualSocket): void {
    this.#sockets.delete(socket);
  }

  #answer(near: VirtualSocket, to: VirtualProcess): void {
    const accept = this.#listening.get(to);
    if (!accept) {
      near.fail('connect ECONNREFUSED');
      return;
    }
    to.enter(() => {
      if (near.isOver) return;
      const far = new VirtualSocket(this, to, { answersPings: false });
      this.#sockets.add(far);
      far.joinTo(near);
      accept(far as unknown as WebSocket);
      near.joinTo(far);
      this.clock.after(this.delayMs(to.host, near.process.host), () => near.open());
    });
  }
}

type Frame = { readonly event: 'message' | 'ping' | 'pong' | 'close'; readonly text?: string };

/** One end of a connection. */
export class VirtualSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 0;
  readonly process: VirtualProcess;
  readonly #network: Network;
  #peer: VirtualSocket | null = null;
  /** As the library of clients does; the server of the product answers by itself. */
  readonly #answersPings: boolean;
  /** Sent, and not yet able to arrive. */
  #held: Frame[] = [];
  #lastArrivalMs = 0;

  constructor(
    network: Network,
    process: VirtualProcess,
    { answersPings }: { readonly answersPings: boolean },
  ) {
    super();
    this.#network = network;
    this.#answersPings = answersPings;
    this.process = process;
  }

  get isOver(): boolean {
    return this.readyState === 3;
  }

  joinTo(peer: VirtualSocket): void {
    this.#peer = peer;
    if (!peer.#peer) this.readyState = this.OPEN;
  }

  open(): void {
    this.process.enter(() => {
      if (this.isOver) return;
      this.readyState = this.OPEN;
      this.emit('open');
    });
  }

  send(text: string): void {
    if (this.readyState === 0) throw new Error('WebSocket is not open: readyState 0 (CONNECTING)');
    if (this.readyState === this.OPEN) this.#transmit({ event: 'message', text });
  }

  ping(text = ''): void {
    if (this.readyState === this.OPEN) this.#transmit({ event: 'ping', text });
  }

  pong(text: string): void {
    if (this.readyState === this.OPEN) this.#transmit({ event: 'pong', text });
  }

  close(): void {
    this.terminate();
  }

  terminate(): void {
    if (this.isOver) return;
    if (this.#peer) this.#transmit({ event: 'close' });
    this.#end();
  }

  /** The connection could not be made. */
  fail(reason: string): void {
    if (this.readyState !== 0) return;
    this.process.enter(() => {
      this.emit('error', new Error(reason));
      this.#end();
    });
  }

  /** The process has ended: its kernel tells the peer, and nobody else. */
  hangUp(): void {
    if (!this.isOver && this.#peer) this.#transmit({ event: 'close' });
    this.readyState = 3;
    if (this.#held.length === 0) this.#network.forget(this);
  }

  /** Sends what was held back. */
  flush(): void {
    if (
      this.#held.length === 0 ||
      !this.#peer ||
      this.#network.isCut(this.process.host, this.#peer.process.host)
    )
      return;
    for (const frame of this.#held.splice(0)) this.#arrive(frame, RESENT_MS);
    if (this.isOver) this.#network.forget(this);
  }

  #end(): void {
    this.readyState = 3;
    if (this.#held.length === 0) this.#network.forget(this);
    this.#network.clock.after(0, () => this.process.enter(() => this.emit('close')));
  }

  #transmit(frame: Frame): void {
    const peer = this.#peer;
    if (!peer) return;
    if (this.#held.length > 0 || this.#network.isCut(this.process.host, peer.process.host))
      this.#held.push(frame);
    else this.#arrive(frame, 0);
  }

  #arrive(frame: Frame, extraMs: number): void {
    const { clock } = this.#network;
    const peer = this.#peer as VirtualSocket;
    const delayMs = this.#network.delayMs(this.process.host, peer.process.host) + extraMs;
    const atMs = Math.max(clock.now() + delayMs, this.#lastArrivalMs);
    this.#lastArrivalMs = atMs;
    clock.after(atMs - clock.now(), () => peer.process.enter(() => peer.#take(frame)));
  }

  #take({ event, text = '' }: Frame): void {
    if (this.isOver) return;
    if (event === 'close') this.#end();
    else this.emit(event, text);
    if (event === 'ping' && this.#answersPings) this.pong(text);
  }
}

/**
 * One media stream: passes messages between the connection of a vendor, which lasts as long as the call, and
 * that of the worker that runs it, which may be followed by another's. Messages are not changed. A worker
 * that joins late gets the messages first with which the stream began.
 */
import type { RawData, WebSocket } from 'ws';
import { z } from 'zod';
import type { Clock, Timer } from '#base/clock.ts';
import { parseJson } from '#base/parse-json.ts';
import { TokenBucket } from '#base/token-bucket.ts';
import { STREAM_CLOSE, STREAM_STARTS } from '#protocol/media-streams.ts';

/** A vendor starts its stream at once. */
const START_MS = 5_000;
/** How long one side waits for the other: a call is being admitted, or goes on with another worker. */
const WAIT_MS = 20_000;
/** Fifty pieces of audio a second, their marks, and what a stall has held up. */
const MESSAGES = { perSecond: 150, burst: 1_000 };
/** The same in bytes: more than twice the audio of any vendor, and of its stalls. */
const BYTES = { perSecond: 100_000, burst: 1_000_000 };
/** Most bytes that wait for a side which does not take them: some seconds of audio. */
const MOST_WAITING_BYTES = 256 * 1024;
/** A stream begins with one or two messages. */
const MOST_FIRST_MESSAGES = 4;
/** Time to confirm the end of a connection. */
const CLOSE_MS = 2_000;
/** Policy violation (RFC 6455 §7.4.1). */
const VIOLATION = 1008;
const NORMAL = 1000;

const first = z.object({ event: z.string() });

/** Why a stream ended. */
export type StreamEnd =
  | 'vendor_left'
  | 'worker_hung_up'
  | 'no_worker'
  | 'no_vendor'
  | 'elsewhere'
  | 'not_started'
  | 'too_many_messages'
  | 'vendor_too_slow'
  | 'closing';

/** Dependencies of a stream. */
export interface StreamRelayDeps {
  readonly clock: Clock;
  /** Called once. */
  readonly onEnd: (why: StreamEnd) => void;
}

/** One stream, which either side may reach first. */
export class StreamRelay {
  readonly #deps: StreamRelayDeps;
  readonly #messages: TokenBucket;
  readonly #bytes: TokenBucket;
  #vendor: WebSocket | null = null;
  #worker: WebSocket | null = null;
  /** The messages with which the vendor began, up to the one that starts the stream. */
  readonly #first: string[] = [];
  #hasStarted = false;
  #isOver = false;
  #timer: Timer;

  constructor(deps: StreamRelayDeps) {
    this.#deps = deps;
    this.#messages = new TokenBucket(deps.clock, MESSAGES);
    this.#bytes = new TokenBucket(deps.clock, BYTES);
    this.#timer = deps.clock.after(WAIT_MS, () => this.end('no_vendor'));
  }

  get hasVendor(): boolean {
    return this.#vendor !== null;
  }

  /** The vendor has come; it comes only once. */
  setVendor(socket: WebSocket): void {
    this.#vendor = socket;
    this.#wait(START_MS, 'not_started');
    socket.on('message', (data, isBinary) => this.#fromVendor(data as Buffer, isBinary));
    socket.on('error', () => undefined);
    socket.on('close', () => this.end('vendor_left'));
  }

  /** A worker has come; it takes the place of the one before. */
  setWorker(socket: WebSocket): void {
    const before = this.#worker;
    this.#worker = socket;
    if (before) this.#close(before, STREAM_CLOSE.replaced);
    socket.on('message', (data, isBinary) => this.#fromWorker(socket, data, isBinary));
    socket.on('error', () => undefined);
    socket.on('close', (code) => this.#workerLeft(socket, code));
    if (this.#hasStarted) this.#greet(socket);
  }

  /** Ends both connections. Idempotent. */
  end(why: StreamEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer.cancel();
    const isFault = why === 'not_started' || why === 'too_many_messages' || why === 'vendor_too_slow';
    if (this.#vendor) this.#close(this.#vendor, isFault ? VIOLATION : NORMAL, why);
    const code = why === 'elsewhere' ? STREAM_CLOSE.elsewhere : STREAM_CLOSE.noVendor;
    if (this.#worker) this.#close(this.#worker, code, why);
    this.#deps.onEnd(why);
  }

  #wait(ms: number, why: StreamEnd): void {
    this.#timer.cancel();
    this.#timer = this.#deps.clock.after(ms, () => this.end(why));
  }

  #fromVendor(data: Buffer, isBinary: boolean): void {
    if (this.#isOver) return;
    const isWithin = this.#messages.tryTake(1) && this.#bytes.tryTake(data.length);
    if (!isWithin) this.end('too_many_messages');
    else if (!this.#hasStarted) this.#begin(data, isBinary);
    else if (this.#worker) this.#pass(data, isBinary, this.#worker);
    // Nobody hears the caller between two workers.
  }

  #begin(data: RawData, isBinary: boolean): void {
    const message = isBinary ? '' : String(data);
    this.#first.push(message);
    this.#hasStarted = STREAM_STARTS.has(parseJson(first, message)?.event ?? '');
    if (!this.#hasStarted) {
      if (this.#first.length >= MOST_FIRST_MESSAGES) this.end('not_started');
      return;
    }
    if (this.#worker) this.#greet(this.#worker);
    else this.#wait(WAIT_MS, 'no_worker');
  }

  /** Both sides are there: the worker learns how the stream began. */
  #greet(worker: WebSocket): void {
    this.#timer.cancel();
    for (const message of this.#first) worker.send(message);
  }

  #fromWorker(from: WebSocket, data: RawData, isBinary: boolean): void {
    if (from !== this.#worker || !this.#hasStarted || !this.#vendor) return;
    if (this.#vendor.bufferedAmount > MOST_WAITING_BYTES) this.end('vendor_too_slow');
    else this.#vendor.send(data, { binary: isBinary });
  }

  /** Cuts off a worker that does not take the caller's audio; it may join again. */
  #pass(data: RawData, isBinary: boolean, worker: WebSocket): void {
    if (worker.bufferedAmount > MOST_WAITING_BYTES) worker.terminate();
    else worker.send(data, { binary: isBinary });
  }

  #workerLeft(socket: WebSocket, code: number): void {
    if (this.#isOver || socket !== this.#worker) return;
    this.#worker = null;
    if (code === STREAM_CLOSE.hungUp) this.end('worker_hung_up');
    else if (this.#hasStarted) this.#wait(WAIT_MS, 'no_worker');
    // Before the start, the wait for the vendor or for its start still ends the stream.
  }

  #close(socket: WebSocket, code: number, reason: string = ''): void {
    socket.close(code, reason);
    const cut = this.#deps.clock.after(CLOSE_MS, () => socket.terminate());
    socket.once('close', () => cut.cancel());
  }
}

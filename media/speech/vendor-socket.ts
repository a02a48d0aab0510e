/**
 * One WebSocket to a speech vendor: what is sent before it opens waits, every failure comes once and as a
 * `SpeechError`, and a socket that was closed is gone after two seconds, whatever the other side does.
 */
import WebSocket from 'ws';
import type { Clock, Timer } from '#base/clock.ts';
import { SpeechError, type SpeechErrorCategory } from './speech.ts';
import { categoryOf } from './vendor-status.ts';

/** Where a socket leads. */
export interface VendorSocketOptions {
  /** The vendor's name, for messages. */
  readonly vendor: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** What the vendor means by a close code; without it, or where it answers null, the connection broke. */
  readonly categoryOfClose?: (code: number) => SpeechErrorCategory | null;
}

/** Who hears what comes. Nothing comes after `onFailed`, or after `close`. */
export interface SocketListener {
  onOpen?(): void;
  onText(text: string): void;
  onBinary?(bytes: Buffer): void;
  onFailed(error: SpeechError): void;
}

const CONNECT_MS = 3_000;
const CLOSE_MS = 2_000;
/**
 * Kept while the socket opens, or a stalled one is found out: all of the audio that is given again after a
 * long failure, in base64.
 */
const MOST_BUFFERED_BYTES = 1024 * 1024;
/** A second of 48 kHz audio in base64 is 128 KiB. */
const MOST_MESSAGE_BYTES = 4 * 1024 * 1024;

/** A socket of one vendor; it connects at once. */
export class VendorSocket {
  /** May be set later than the socket is made; what comes before is not kept. */
  listener: SocketListener | null = null;
  readonly #socket: WebSocket;
  readonly #options: VendorSocketOptions;
  readonly #connecting: Timer;
  #isOver = false;
  #waiting: (Buffer | string)[] = [];
  #waitingBytes = 0;

  constructor(options: VendorSocketOptions) {
    const { vendor, clock } = options;
    this.#options = options;
    this.#socket = new WebSocket(options.url, {
      headers: { ...options.headers },
      maxPayload: MOST_MESSAGE_BYTES,
      perMessageDeflate: false,
    });
    this.#connecting = clock.after(CONNECT_MS, () =>
      this.fail(new SpeechError('stalled', `${vendor} did not open the connection`)),
    );
    this.#socket.on('open', () => this.#opened());
    this.#socket.on('message', (data: Buffer, isBinary) => {
      if (this.#isOver) return;
      if (isBinary) this.listener?.onBinary?.(data);
      else this.listener?.onText(String(data));
    });
    this.#socket.on('unexpected-response', (_request, response) => {
      response.resume();
      const status = response.statusCode ?? 0;
      this.fail(new SpeechError(categoryOf(status), `${vendor} refused the connection with HTTP ${status}`));
    });
    this.#socket.on('error', (cause) =>
      this.fail(new SpeechError('connectivity', `${vendor} could not be reached`, { cause })),
    );
    this.#socket.on('close', (code) => {
      const category = options.categoryOfClose?.(code) ?? 'connectivity';
      this.fail(new SpeechError(category, `${vendor} closed the connection (${code})`));
    });
  }

  /** True from `close` or a failure on. */
  get isOver(): boolean {
    return this.#isOver;
  }

  send(message: Buffer | string): void {
    if (this.#isOver) return;
    const isOpen = this.#socket.readyState === WebSocket.OPEN;
    if (!isOpen) this.#waitingBytes += message.length;
    if (Math.max(this.#waitingBytes, this.#socket.bufferedAmount) > MOST_BUFFERED_BYTES) {
      this.fail(new SpeechError('stalled', `${this.#options.vendor} does not take what is sent`));
    } else if (isOpen) this.#socket.send(message);
    else this.#waiting.push(message);
  }

  /** Ends the connection, with a last message where the vendor wants one. Idempotent. */
  close(farewell?: string): void {
    if (this.#isOver) return;
    this.#stop();
    if (this.#socket.readyState !== WebSocket.OPEN) {
      this.#socket.terminate();
      return;
    }
    if (farewell !== undefined) this.#socket.send(farewell);
    this.#socket.close();
    const killer = this.#options.clock.after(CLOSE_MS, () => this.#socket.terminate());
    this.#socket.once('close', () => killer.cancel());
  }

  /** Gives the connection up for this reason. */
  fail(error: SpeechError): void {
    if (this.#isOver) return;
    this.#stop();
    this.#socket.terminate();
    this.listener?.onFailed(error);
  }

  #opened(): void {
    if (this.#isOver) return;
    this.#connecting.cancel();
    for (const message of this.#waiting.splice(0)) this.#socket.send(message);
    this.#waitingBytes = 0;
    this.listener?.onOpen?.();
  }

  #stop(): void {
    this.#isOver = true;
    this.#waiting = [];
    this.#connecting.cancel();
  }
}

/** The address of a vendor's socket: its base in either scheme, a path, and the parameters that are set. */
export function socketUrl(
  baseUrl: string,
  path: string,
  parameters: Readonly<Record<string, string | readonly string[] | undefined>>,
): URL {
  const url = new URL(`${baseUrl.replace(/^http/, 'ws')}${path}`);
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of [value ?? []].flat()) url.searchParams.append(name, one);
  }
  return url;
}

/** A vendor's message, or null for what is no JSON. */
export function parseMessage(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

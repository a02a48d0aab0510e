/**
 * One WebSocket to a speech vendor: messages sent before it opens are queued, each failure is reported once
 * as a `SpeechError`, and a closed socket is gone after two seconds whatever the peer does.
 */
import type { LookupFunction } from 'node:net';
import WebSocket from 'ws';
import type { Clock, Timer } from '#base/clock.ts';
import { EgressRefused } from '#base/egress.ts';
import { SpeechError, type SpeechErrorCategory } from '../../speech.ts';
import { refusal } from './vendor-status.ts';

/** Target of a socket. */
export interface VendorSocketOptions {
  /** The vendor's name, for messages. */
  readonly vendor: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Advice for the operator when the vendor refuses the key; absent: the message has none. */
  readonly keyAdvice?: string;
  /** Meaning of the vendor's close codes; without it, or if it returns null, the connection broke. */
  readonly categoryOfClose?: (code: number) => SpeechErrorCategory | null;
  /** Resolves the host instead of the system, for an address that a tenant chose. */
  readonly lookup?: LookupFunction;
  /** A longer message fails the connection, bytes; absent: 4 MiB. */
  readonly maxMessageBytes?: number;
  /**
   * Told what was read: bytes, and messages, pings and pongs. False fails the connection. Absent: no limit.
   */
  readonly admits?: (read: { readonly messages: number; readonly bytes: number }) => boolean;
}

/** Listener. Gets nothing after `onFailed` or `close`. */
export interface SocketListener {
  onOpen?(): void;
  onText(text: string): void;
  onBinary?(bytes: Buffer): void;
  onFailed(error: SpeechError): void;
}

const ONE_MESSAGE = { messages: 1, bytes: 0 };
const CONNECT_MS = 3_000;
const CLOSE_MS = 2_000;
/**
 * Most bytes queued while the socket opens or a stall is being detected: all the audio repeated after a long
 * failure, in base64.
 */
const MAX_BUFFERED_BYTES = 1024 * 1024;
/** A second of 48 kHz audio in base64 is 128 KiB. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** A socket of one vendor; connects at once. */
export class VendorSocket {
  /** May be set after the socket is created; earlier messages are dropped. */
  listener: SocketListener | null = null;
  readonly #socket: WebSocket;
  readonly #options: VendorSocketOptions;
  readonly #connecting: Timer;
  #isOver = false;
  #waiting: (Buffer | string)[] = [];
  #waitingBytes = 0;

  constructor(options: VendorSocketOptions) {
    const { vendor, clock, maxMessageBytes = MAX_MESSAGE_BYTES } = options;
    this.#options = options;
    this.#socket = new WebSocket(options.url, {
      headers: { ...options.headers },
      maxPayload: maxMessageBytes,
      perMessageDeflate: false,
      ...(options.lookup ? { lookup: options.lookup } : {}),
    });
    this.#connecting = clock.after(CONNECT_MS, () =>
      this.fail(new SpeechError('stalled', `${vendor} did not open the connection`)),
    );
    this.#socket.on('open', () => this.#opened());
    this.#socket.on('message', (data: Buffer, isBinary) => {
      if (this.#isOver || !this.#mayRead(ONE_MESSAGE)) return;
      if (isBinary) this.listener?.onBinary?.(data);
      else this.listener?.onText(String(data));
    });
    if (options.admits) this.#watchFlood();
    this.#socket.on('unexpected-response', (_request, response) => {
      response.resume();
      const status = response.statusCode ?? 0;
      this.fail(refusal(status, `${vendor} refused the connection with HTTP ${status}`, options.keyAdvice));
    });
    this.#socket.on('error', (cause) => this.fail(failureOf(vendor, cause, maxMessageBytes)));
    this.#socket.on('close', (code) => {
      const category = options.categoryOfClose?.(code) ?? 'connectivity';
      this.fail(new SpeechError(category, `${vendor} closed the connection (${code})`));
    });
  }

  /** True after `close` or a failure. */
  get isOver(): boolean {
    return this.#isOver;
  }

  send(message: Buffer | string): void {
    if (this.#isOver) return;
    const isOpen = this.#socket.readyState === WebSocket.OPEN;
    if (!isOpen) this.#waitingBytes += message.length;
    if (Math.max(this.#waitingBytes, this.#socket.bufferedAmount) > MAX_BUFFERED_BYTES) {
      this.fail(new SpeechError('stalled', `${this.#options.vendor} does not read what is sent`));
    } else if (isOpen) this.#socket.send(message);
    else this.#waiting.push(message);
  }

  /** Closes the connection, after a last message if the vendor expects one. Idempotent. */
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

  /** Fails the connection for this reason. */
  fail(error: SpeechError): void {
    if (this.#isOver) return;
    this.#stop();
    this.#socket.terminate();
    this.listener?.onFailed(error);
  }

  /** What else than messages costs time. */
  #watchFlood(): void {
    const oneMore = () => void this.#mayRead(ONE_MESSAGE);
    this.#socket.on('ping', oneMore).on('pong', oneMore);
    this.#socket.on('upgrade', ({ socket }) =>
      // Not earlier: the first listener gets what came with the answer, which is the first message.
      this.#socket.once('open', () =>
        socket.on('data', ({ length }: Buffer) => void this.#mayRead({ messages: 0, bytes: length })),
      ),
    );
  }

  #mayRead(read: { readonly messages: number; readonly bytes: number }): boolean {
    if (this.#options.admits?.(read) !== false) return true;
    this.fail(new SpeechError('unavailable', `${this.#options.vendor} sends too many messages`));
    // One that is being closed, too.
    this.#socket.terminate();
    return false;
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

function failureOf(vendor: string, cause: Error, maxMessageBytes: number): SpeechError {
  if (cause instanceof EgressRefused)
    return new SpeechError('bad_request', `${vendor} may not be reached: ${cause.message}`, { cause });
  if ('code' in cause && cause.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH')
    return new SpeechError('unavailable', `${vendor} sent a message of more than ${maxMessageBytes} bytes`);
  return new SpeechError('connectivity', `${vendor} could not be reached`, { cause });
}

/** Address of a vendor's socket: its base in either scheme, a path, and the parameters that are set. */
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

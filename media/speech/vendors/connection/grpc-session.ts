/**
 * gRPC: one HTTP/2 connection to a vendor, and calls on it, each a stream of messages in both directions.
 * Messages are not compressed.
 *
 * Source: the page "gRPC over HTTP2" of gRPC.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { Clock, Timer } from '#base/clock.ts';
import { SpeechError } from '../../speech.ts';
import { refusal } from './vendor-status.ts';

const CONNECT_MS = 3_000;
const PREFIX_BYTES = 5;
/** A longer message fails the connection. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
/** Most bytes queued while the connection opens or a stall is being detected. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** How a call has ended (the `grpc-status` and `grpc-message` of its trailers). */
export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
}

/** Target of a connection, and what it reports. */
export interface GrpcSessionOptions {
  /** The vendor's name, for messages. */
  readonly vendor: string;
  /** http or https scheme. */
  readonly url: string;
  readonly clock: Clock;
  /** Advice for the operator when the vendor refuses the key. */
  readonly keyAdvice: string;
  readonly onOpen: () => void;
  /** At most once; nothing follows it. */
  readonly onFailed: (error: SpeechError) => void;
}

/** Receives the events of a call; nothing follows `onEnd`. */
export interface GrpcListener {
  onMessage(message: Uint8Array): void;
  onEnd(status: GrpcStatus): void;
}

/** A call; not used after its end. */
export interface GrpcCall {
  send(message: Uint8Array): void;
  /** No further message is sent. */
  end(): void;
}

/** A connection; connects at once. */
export class GrpcSession {
  readonly #options: GrpcSessionOptions;
  readonly #session: ClientHttp2Session;
  readonly #connecting: Timer;
  #isOver = false;
  /** The vendor takes no further call on it. */
  isLeaving = false;

  constructor(options: GrpcSessionOptions) {
    const { vendor, url, clock } = options;
    this.#options = options;
    this.#session = connect(url);
    this.#connecting = clock.after(CONNECT_MS, () =>
      this.fail(new SpeechError('stalled', `${vendor} did not open the connection`)),
    );
    this.#session.once('remoteSettings', () => {
      this.#connecting.cancel();
      if (!this.#isOver) options.onOpen();
    });
    this.#session.on('goaway', () => {
      this.isLeaving = true;
    });
    this.#session.on('error', (cause) => this.#broke(cause));
    this.#session.on('close', () => {
      if (!this.isLeaving) this.#broke();
    });
  }

  /** Begins a call of this method (`/<service>/<method>`). */
  call(path: string, headers: Readonly<Record<string, string>>, listener: GrpcListener): GrpcCall {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
        ...headers,
      });
    } catch (error) {
      // The connection has closed, and says so later. Never from within the caller's own call.
      queueMicrotask(() => this.#broke(error as Error));
      return { send: () => undefined, end: () => undefined };
    }
    this.#listen(stream, listener);
    return {
      send: (message) => this.#send(stream, message),
      end: () => {
        if (!stream.writableEnded) stream.end();
      },
    };
  }

  /** Fails the connection for this reason. */
  fail(error: SpeechError): void {
    if (this.#isOver) return;
    this.close();
    this.#options.onFailed(error);
  }

  close(): void {
    this.#isOver = true;
    this.#connecting.cancel();
    this.#session.destroy();
  }

  #listen(stream: ClientHttp2Stream, { onMessage, onEnd }: GrpcListener): void {
    const { vendor, keyAdvice } = this.#options;
    const reader = new MessageReader((message) => {
      if (!this.#isOver) onMessage(message);
    });
    let status: GrpcStatus | null = null;
    stream.on('response', (headers) => {
      const code = headers[':status'] ?? 0;
      if (code !== 200) this.fail(refusal(code, `${vendor} answered HTTP ${code}`, keyAdvice));
      status = statusOf(headers);
    });
    stream.on('trailers', (headers) => {
      status = statusOf(headers);
    });
    stream.on('data', (bytes: Buffer) => {
      if (!reader.read(bytes))
        this.fail(new SpeechError('unavailable', `${vendor} sent a message that is not in the protocol`));
    });
    // The session reports the errors of the connection.
    stream.on('error', () => undefined);
    let isDone = false;
    const finish = () => {
      if (isDone || this.#isOver) return;
      isDone = true;
      if (status) {
        // The vendor may end a call before the client has.
        stream.close();
        onEnd(status);
      } else this.#broke();
    };
    stream.on('end', finish);
    stream.on('close', finish);
  }

  #send(stream: ClientHttp2Stream, message: Uint8Array): void {
    if (this.#isOver || stream.writableEnded) return;
    const frame = Buffer.alloc(PREFIX_BYTES + message.length);
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, PREFIX_BYTES);
    stream.write(frame);
    if (stream.writableLength > MAX_BUFFERED_BYTES)
      this.fail(new SpeechError('stalled', `${this.#options.vendor} does not read what is sent`));
  }

  #broke(cause?: Error): void {
    const what = `${this.#options.vendor} could not be reached, or the connection broke`;
    this.fail(new SpeechError('connectivity', what, { cause }));
  }
}

/** Finds messages in the bytes of a call. */
class MessageReader {
  readonly #onMessage: (message: Uint8Array) => void;
  #pieces: Buffer[] = [];
  #length = 0;
  /** Bytes that complete the prefix or the message. */
  #wanted = PREFIX_BYTES;

  constructor(onMessage: (message: Uint8Array) => void) {
    this.#onMessage = onMessage;
  }

  /** Returns false for a message that is compressed or too long. */
  read(bytes: Buffer): boolean {
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    while (this.#length >= this.#wanted) {
      const [only] = this.#pieces;
      const all = only && this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces);
      const size = all.readUInt32BE(1);
      if (all[0] !== 0 || size > MAX_MESSAGE_BYTES) return false;
      this.#wanted = PREFIX_BYTES + size;
      this.#pieces = [all];
      if (all.length < this.#wanted) return true;
      const rest = all.subarray(this.#wanted);
      this.#pieces = [rest];
      this.#length = rest.length;
      const message = all.subarray(PREFIX_BYTES, this.#wanted);
      this.#wanted = PREFIX_BYTES;
      this.#onMessage(message);
    }
    return true;
  }
}

function statusOf(headers: IncomingHttpHeaders): GrpcStatus | null {
  const code = Number(headers['grpc-status'] ?? Number.NaN);
  if (!Number.isInteger(code)) return null;
  return { code, message: decoded(String(headers['grpc-message'] ?? '')) };
}

/** The message is percent-encoded; a wrong encoding is shown as it is. */
function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}

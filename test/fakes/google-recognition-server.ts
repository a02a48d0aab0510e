/**
 * A stand-in for Google's live recognition: `google.cloud.speech.v1.Speech/StreamingRecognize` by gRPC over a
 * real HTTP/2 connection. It answers a request that breaks the protocol with the status 3, as the vendor
 * does. Its codec is its own, so that a mistake of the product's does not cancel out.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { Ear } from './ear.ts';
import type { SocketFault, VendorConnection, VendorServer } from './vendor-sockets.ts';

/** Behaviour of the stand-in. */
export interface GoogleRecognitionOptions {
  /** Transcripts in order. Default: `hello`. */
  readonly lines?: readonly string[];
  readonly apiKey?: string;
  /** Says whether the `authorization` header is accepted; absent: by key only. */
  readonly mayEnter?: (authorization: string | undefined) => boolean;
  /** Delay of every answer, ms. Default 0. */
  readonly delayMs?: number;
  /** Leaves calls open that the client has ended. */
  readonly isEndless?: boolean;
  /** Ends each call with this status at its first audio. */
  readonly status?: { readonly code: number; readonly message: string };
}

/** A running stand-in. */
export interface GoogleRecognitionServer extends VendorServer {
  /** Tells every client to open another connection for its next call. */
  leave(): void;
}

type Decoded = ReadonlyMap<number, readonly (number | Buffer)[]>;

const METHOD = '/google.cloud.speech.v1.Speech/StreamingRecognize';
const MAX_AUDIO_BYTES = 25 * 1_024;
const CONFIG_FIELDS = [1, 2, 3, 6, 8, 11, 13];
const MODELS = ['latest_long', 'telephony', 'latest_short', 'phone_call'];

/** Starts the stand-in on a free port of 127.0.0.1. */
export async function startGoogleRecognitionServer(
  options: GoogleRecognitionOptions = {},
): Promise<GoogleRecognitionServer> {
  const connections: VendorConnection[] = [];
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const state = { fault: null as SocketFault | null };
  const server = createServer();
  const listener = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    // A connection may be accepted, and then stay silent.
    const isSilent = state.fault && 'halfOpen' in state.fault && state.fault.halfOpen === 'upgrade';
    if (!isSilent) server.emit('connection', socket);
  });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    if (state.fault && 'status' in state.fault)
      return void stream.respond({ ':status': state.fault.status }, { endStream: true });
    const refusal = refusalOf(headers, options);
    if (refusal) return end(stream, refusal);
    const connection = connectionOf(stream, headers);
    connections.push(connection);
    listen(stream, connection, { options, isSilent: () => state.fault !== null });
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as { port: number };
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    connections,
    get fault() {
      return state.fault;
    },
    set fault(value) {
      state.fault = value;
    },
    cut,
    leave: () => {
      for (const session of sessions) session.goaway();
    },
    async close() {
      cut();
      await new Promise<void>((resolve) => listener.close(() => resolve()));
    },
  };
}

interface Status {
  readonly code: number;
  readonly message: string;
}

function refusalOf(
  headers: IncomingHttpHeaders,
  { apiKey, mayEnter }: GoogleRecognitionOptions,
): Status | null {
  if (headers[':path'] !== METHOD || headers[':method'] !== 'POST')
    return { code: 12, message: 'no such method' };
  if (headers['content-type'] !== 'application/grpc' || headers['te'] !== 'trailers')
    return { code: 13, message: 'not gRPC' };
  if (mayEnter && !mayEnter(headers.authorization)) return { code: 16, message: 'Invalid credentials.' };
  if (apiKey !== undefined && headers['x-goog-api-key'] !== apiKey)
    return { code: 3, message: 'API key not valid. Please pass a valid API key.' };
  return null;
}

function connectionOf(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): VendorConnection {
  const connection: VendorConnection = {
    path: String(headers[':path']),
    query: new URLSearchParams(),
    headers,
    messages: [],
    audioBytes: 0,
    isOpen: true,
    say: () => {},
    close: () => stream.close(),
  };
  stream.on('close', () => {
    connection.isOpen = false;
  });
  return connection;
}

/** Ends a call; without an answer before, the status is in the headers ("Trailers-Only"). */
function end(stream: ServerHttp2Stream, { code, message }: Status): void {
  if (stream.destroyed || stream.writableEnded) return;
  const trailers = { 'grpc-status': String(code), 'grpc-message': encodeURIComponent(message) };
  if (!stream.headersSent) {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...trailers }, { endStream: true });
    return;
  }
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end();
}

interface CallContext {
  readonly options: GoogleRecognitionOptions;
  readonly isSilent: () => boolean;
}

function listen(
  stream: ServerHttp2Stream,
  connection: VendorConnection,
  { options, isSilent }: CallContext,
): void {
  const { lines = ['hello'], delayMs = 0 } = options;
  const call = { ear: null as Ear | null, rest: Buffer.alloc(0), isRefused: false };
  const later = (run: () => void) => void (delayMs > 0 ? setTimeout(run, delayMs) : run());
  const say = (message: Buffer) =>
    later(() => {
      if (isSilent() || stream.destroyed) return;
      if (!stream.headersSent)
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      const frame = Buffer.alloc(5);
      frame.writeUInt32BE(message.length, 1);
      const bytes = Buffer.concat([frame, message]);
      // In two pieces, because a message may be cut anywhere.
      stream.write(bytes.subarray(0, 7));
      stream.write(bytes.subarray(7));
    });
  const finish = (status: Status) => {
    call.isRefused = true;
    later(() => {
      if (!isSilent()) end(stream, status);
    });
  };
  const line = () => lines[phrasesOf(stream) % lines.length] ?? '';
  const conclude = (ear: Ear) => {
    say(resultsOf(line(), { isFinal: true, startMs: ear.utteranceStartMs, endMs: ear.heardMs }));
    notePhrase(stream);
    ear.reset();
  };

  function hear(audio: Buffer) {
    connection.audioBytes += audio.length;
    if (options.status) return finish(options.status);
    const { ear } = call;
    if (!ear) return finish({ code: 3, message: 'The first message must have a config.' });
    if (audio.length > MAX_AUDIO_BYTES) return finish({ code: 3, message: 'The audio is too long.' });
    const event = ear.hear(audio);
    if (event === 'speaking') {
      // SPEECH_ACTIVITY_BEGIN.
      say(Buffer.from([0x20, 2]));
      const [first = '', ...others] = line().split(' ');
      say(resultsOf(first, { isFinal: false, others: others.length > 1 ? [''] : [] }));
    }
    if (event === 'ended') conclude(ear);
  }

  function read(message: Buffer) {
    const fields = decode(message);
    const [config] = buffersOf(fields, 1);
    if (!config) return hear(buffersOf(fields, 2)[0] ?? Buffer.alloc(0));
    const problem = call.ear ? 'A second config.' : problemOf(config);
    if (problem !== null) return finish({ code: 3, message: problem });
    const recognition = decode(buffersOf(decode(config), 1)[0] ?? Buffer.alloc(0));
    call.ear = new Ear(Number(recognition.get(2)?.[0]), 400);
    const contexts = buffersOf(recognition, 6).map(decode);
    connection.messages.push({
      rate: recognition.get(2)?.[0],
      language: String(buffersOf(recognition, 3)[0]),
      model: String(buffersOf(recognition, 13)[0]),
      phrases: contexts.flatMap((context) => buffersOf(context, 1)).map(String),
    });
  }

  stream.on('data', (bytes: Buffer) => {
    call.rest = Buffer.concat([call.rest, bytes]);
    while (!call.isRefused && call.rest.length >= 5) {
      const length = call.rest.readUInt32BE(1);
      if (call.rest[0] !== 0) return finish({ code: 12, message: 'Compressed.' });
      if (call.rest.length < 5 + length) return;
      const message = call.rest.subarray(5, 5 + length);
      call.rest = call.rest.subarray(5 + length);
      read(message);
    }
  });
  stream.on('end', () => {
    if (call.isRefused || options.isEndless) return;
    if (call.ear?.hasSpeech) conclude(call.ear);
    finish({ code: 0, message: '' });
  });
}

/** Phrases of each connection so far: a line is heard once. */
const heardPhrases = new WeakMap<object, number>();
const phrasesOf = ({ session }: ServerHttp2Stream) => heardPhrases.get(session ?? {}) ?? 0;
const notePhrase = (stream: ServerHttp2Stream) => {
  if (stream.session) heardPhrases.set(stream.session, phrasesOf(stream) + 1);
};

/** What is wrong with a `StreamingRecognitionConfig`; null: nothing. */
function problemOf(config: Buffer): string | null {
  const streaming = decode(config);
  const recognition = decode(buffersOf(streaming, 1)[0] ?? Buffer.alloc(0));
  const unknown = [...recognition.keys()].filter((number) => !CONFIG_FIELDS.includes(number));
  if (unknown.length > 0) return `Unknown fields ${unknown.join()}.`;
  if (streaming.get(3)?.[0] !== 1 || streaming.get(5)?.[0] !== 1) return 'No interim results or events.';
  if (recognition.get(1)?.[0] !== 1) return 'The encoding is not LINEAR16.';
  if (![8_000, 16_000].includes(Number(recognition.get(2)?.[0]))) return 'sample_rate_hertz.';
  if (!/^[a-z]{2,3}(-[A-Z][a-z]{3})?-[A-Z]{2}$/.test(String(buffersOf(recognition, 3)[0])))
    return 'Invalid language_code.';
  return MODELS.includes(String(buffersOf(recognition, 13)[0])) ? null : 'The model is not supported.';
}

/** `StreamingRecognizeResponse` with one result, and further ones for `others`. */
function resultsOf(
  text: string,
  at: { isFinal: boolean; startMs?: number; endMs?: number; others?: readonly string[] },
): Buffer {
  const words = text.split(' ');
  const start = at.startMs ?? 0;
  const timed = words.map((word, index) =>
    message([
      [1, duration(start + index * 200)],
      [2, duration(start + index * 200 + 150)],
      [3, Buffer.from(word)],
    ]),
  );
  const alternative = message([
    [1, Buffer.from(text)],
    ...(at.isFinal ? timed.map((word): [number, Buffer] => [3, word]) : []),
  ]);
  const result = message([
    [1, alternative],
    [2, at.isFinal ? 1 : 0],
    [4, duration(at.endMs ?? 0)],
    [6, Buffer.from('en-us')],
  ]);
  const others = (at.others ?? []).map((other): [number, Buffer] => [
    2,
    message([[1, message([[1, Buffer.from(other)]])]]),
  ]);
  return message([[2, result], ...others]);
}

function duration(ms: number): Buffer {
  return message([
    [1, Math.floor(ms / 1_000)],
    [2, (ms % 1_000) * 1e6],
  ]);
}

function message(fields: readonly (readonly [number, number | Buffer])[]): Buffer {
  return Buffer.concat(
    fields.map(([number, value]) =>
      typeof value === 'number'
        ? Buffer.concat([varint((number << 3) | 0), varint(value)])
        : Buffer.concat([varint((number << 3) | 2), varint(value.length), value]),
    ),
  );
}

function varint(value: number): Buffer {
  let rest = BigInt(value);
  const bytes: number[] = [];
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return Buffer.from(bytes);
}

function decode(bytes: Buffer): Decoded {
  const fields = new Map<number, (number | Buffer)[]>();
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return Number(value);
    }
  };
  while (at < bytes.length) {
    const tag = next();
    const number = tag >> 3;
    if ((tag & 7) !== 0 && (tag & 7) !== 2) throw new Error(`wire type ${tag & 7}`);
    const length = next();
    const isNumber = (tag & 7) === 0;
    const value = isNumber ? length : bytes.subarray(at, at + length);
    if (!isNumber) at += length;
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

function buffersOf(fields: Decoded, number: number): readonly Buffer[] {
  return (fields.get(number) ?? []).filter((value) => typeof value !== 'number');
}

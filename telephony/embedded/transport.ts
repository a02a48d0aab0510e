/**
 * SIP over UDP and TCP on one address, and over TLS beside it (RFC 3261 §18): the text of whole messages in, whole messages out.
 * Nothing from the network throws; what a text means is decided above.
 */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { connect, createServer, isIP, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, rootCertificates, connect as tlsConnect } from 'node:tls';
import { MAX_MESSAGE_BYTES } from './message.ts';

/** Where a message came from or goes to. */
export interface Peer {
  readonly transport: 'udp' | 'tcp' | 'tls';
  readonly address: string;
  readonly port: number;
}

/** How TLS is spoken. All in PEM. */
export interface SipTls {
  /** 0 takes a free one. */
  readonly port: number;
  /** Shown to whoever connects, and to whom we connect. */
  readonly certificate: string | Buffer;
  readonly key: string | Buffer;
  /** Trusted beside the well-known authorities where we connect; null: only those. */
  readonly authorities: string | Buffer | null;
}

/** What the transports are opened with. */
export interface TransportOptions {
  readonly host: string;
  /** 0 takes one port that is free for both. */
  readonly port: number;
  /** Null: TLS is not spoken. */
  readonly tls: SipTls | null;
  /** One message, or whatever came in its place. */
  onMessage(text: string, source: Peer): void;
  /** Nothing could be sent there. */
  onUnreachable(peer: Peer): void;
}

/** The open sockets. */
export interface Transports {
  readonly port: number;
  /** Null where TLS is not spoken. */
  readonly tlsPort: number | null;
  /** Sends a message; a connection is opened when there is none. */
  send(text: string, peer: Peer): void;
  close(): Promise<void>;
}

const HEADER_END = Buffer.from('\r\n\r\n');
const MAX_PORT = 65_535;
const MAX_CONNECTIONS = 4_096;
const CONNECT_MS = 5_000;

/** Opens them all; rejects when an address cannot be bound. */
export async function openTransports(options: TransportOptions): Promise<Transports> {
  const plain = await bindPlain(options);
  try {
    return new BoundTransports(options, { ...plain, tls: options.tls && (await listenTls(options.host, options.tls)) });
  } catch (error) {
    plain.tcp.close();
    plain.udp.close();
    throw error;
  }
}

/** UDP and TCP on one port. */
async function bindPlain(options: TransportOptions): Promise<{ readonly tcp: Server; readonly udp: UdpSocket; readonly port: number }> {
  for (let attempt = 0; ; attempt++) {
    const tcp = await listenTcp(options);
    const port = portOf(tcp);
    try {
      return { tcp, udp: await bindUdp(options, port), port };
    } catch (error) {
      tcp.close();
      // The port was free for TCP only; with port 0 another one will do.
      if (options.port !== 0 || attempt > 20) throw error;
    }
  }
}

class BoundTransports implements Transports {
  readonly port: number;
  readonly tlsPort: number | null;
  readonly #options: TransportOptions;
  readonly #servers: readonly Server[];
  readonly #udp: UdpSocket;
  readonly #connections = new Map<string, Socket>();
  #isClosed = false;

  constructor(
    options: TransportOptions,
    bound: { readonly tcp: Server; readonly udp: UdpSocket; readonly tls: Server | null; readonly port: number },
  ) {
    this.#options = options;
    this.#servers = bound.tls ? [bound.tcp, bound.tls] : [bound.tcp];
    this.#udp = bound.udp;
    this.port = bound.port;
    this.tlsPort = bound.tls && portOf(bound.tls);
    bound.tcp.on('connection', (socket) => this.#adopt(socket, 'tcp'));
    bound.tls?.on('secureConnection', (socket: Socket) => this.#adopt(socket, 'tls'));
    this.#udp.on('error', () => undefined);
    this.#udp.on('message', (bytes, from) => {
      const source: Peer = { transport: 'udp', address: from.address, port: from.port };
      // Empty lines keep a NAT binding open (RFC 5626 §3.5.1).
      if (bytes.length <= 4) return;
      this.#options.onMessage(bytes.toString('utf8'), source);
    });
  }

  send(text: string, peer: Peer): void {
    // Ports come out of messages: what nobody can be reached by must not throw into a timer.
    if (this.#isClosed || !Number.isInteger(peer.port) || peer.port < 1 || peer.port > MAX_PORT) return;
    if (peer.transport === 'udp') {
      this.#udp.send(text, peer.port, peer.address, (error) => {
        if (error && !this.#isClosed) this.#options.onUnreachable(peer);
      });
      return;
    }
    const socket = this.#connections.get(keyOf(peer)) ?? this.#open(peer);
    socket?.write(text);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const socket of this.#connections.values()) socket.destroy();
    const closed = this.#servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    await Promise.all([...closed, new Promise<void>((resolve) => this.#udp.close(resolve))]);
  }

  #open(peer: Peer): Socket | null {
    const socket = this.#connect(peer);
    if (socket === null) return null;
    let isOpen = false;
    socket.once(peer.transport === 'tls' ? 'secureConnect' : 'connect', () => {
      isOpen = true;
      socket.setTimeout(0);
    });
    socket.once('timeout', () => socket.destroy());
    this.#read(socket, peer);
    socket.once('close', () => {
      if (!isOpen && !this.#isClosed) this.#options.onUnreachable(peer);
    });
    return socket;
  }

  #connect(peer: Peer): Socket | null {
    const to = { host: peer.address, port: peer.port, timeout: CONNECT_MS };
    if (peer.transport === 'tcp') return connect(to);
    const { tls } = this.#options;
    if (tls === null) return null;
    const ca = tls.authorities === null ? {} : { ca: [...rootCertificates, tls.authorities] };
    const name = isIP(peer.address) === 0 ? { servername: peer.address } : {};
    return tlsConnect({ ...to, ...name, ...ca, cert: tls.certificate, key: tls.key });
  }

  #adopt(socket: Socket, transport: 'tcp' | 'tls'): void {
    if (this.#connections.size >= MAX_CONNECTIONS) socket.destroy();
    else this.#read(socket, { transport, address: (socket.remoteAddress ?? '').replace(/^::ffff:/, ''), port: socket.remotePort ?? 0 });
  }

  #read(socket: Socket, peer: Peer): void {
    const key = keyOf(peer);
    this.#connections.set(key, socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#connections.get(key) === socket) this.#connections.delete(key);
    });
    let waiting: Buffer = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
      for (;;) {
        const framed = takeFrame(waiting);
        if (framed === 'more') return;
        waiting = framed.rest;
        if (framed.message.length > 0) this.#options.onMessage(framed.message.toString('utf8'), peer);
        if (framed.isBroken) {
          // Where the next message begins is anybody's guess (RFC 4475 §3.1.2.3).
          socket.removeAllListeners('data');
          socket.end();
          return;
        }
      }
    });
  }
}

/** A message at the front of a stream. */
interface Frame {
  readonly message: Buffer;
  readonly rest: Buffer;
  /** Nothing behind it can be made sense of. */
  readonly isBroken: boolean;
}

/** Cuts one message off by its Content-Length (RFC 3261 §18.3); an empty one is a keep-alive. */
function takeFrame(bytes: Buffer): Frame | 'more' {
  let from = 0;
  while (from < bytes.length && (bytes[from] === 13 || bytes[from] === 10)) from += 1;
  if (from > 0) return { message: Buffer.alloc(0), rest: bytes.subarray(from), isBroken: false };
  const headEnd = bytes.indexOf(HEADER_END);
  if (headEnd < 0) return bytes.length > MAX_MESSAGE_BYTES ? broken(bytes, MAX_MESSAGE_BYTES) : 'more';
  const bodyAt = headEnd + HEADER_END.length;
  const length = contentLength(bytes.toString('latin1', 0, headEnd));
  if (length === null || bodyAt + length > MAX_MESSAGE_BYTES) return broken(bytes, bodyAt);
  const end = bodyAt + length;
  return bytes.length < end ? 'more' : { message: bytes.subarray(0, end), rest: bytes.subarray(end), isBroken: false };
}

function broken(bytes: Buffer, end: number): Frame {
  return { message: bytes.subarray(0, end), rest: Buffer.alloc(0), isBroken: true };
}

/** The one Content-Length of a head; 0 without one, null when it cannot be told. */
function contentLength(head: string): number | null {
  const given = [...head.replace(/\r\n[ \t]+/g, ' ').matchAll(/\r\n(?:content-length|l)[ \t]*:([^\r\n]*)/gi)].map((match) => (match[1] ?? '').trim());
  if (given.length === 0) return 0;
  return given.length === 1 && /^\d{1,6}$/.test(given[0] ?? '') ? Number(given[0]) : null;
}

function listenTcp(options: TransportOptions): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(options.port, options.host, () => resolve(server));
  });
}

function listenTls(host: string, { port, certificate, key }: SipTls): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createTlsServer({ cert: certificate, key, handshakeTimeout: CONNECT_MS }).once('error', reject);
    server.maxConnections = MAX_CONNECTIONS;
    server.on('tlsClientError', () => undefined);
    server.listen(port, host, () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

function bindUdp(options: TransportOptions, port: number): Promise<UdpSocket> {
  return new Promise((resolve, reject) => {
    const socket = createSocket({ type: isIP(options.host) === 6 ? 'udp6' : 'udp4', recvBufferSize: 1 << 20 }).once('error', reject);
    socket.bind(port, options.host, () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

function keyOf(peer: Peer): string {
  return `${peer.transport}:${peer.address}:${peer.port}`;
}

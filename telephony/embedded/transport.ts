/**
 * SIP over UDP and TCP on one address (RFC 3261 §18): whole messages in, whole messages out.
 * Nothing from the network throws; what is no message is counted and dropped.
 */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { connect, createServer, isIP, type Server, type Socket } from 'node:net';
import { header, MAX_MESSAGE_BYTES, parseMessage, type SipMessage } from './message.ts';

/** Where a message came from or goes to. */
export interface Peer {
  readonly transport: 'udp' | 'tcp';
  readonly address: string;
  readonly port: number;
}

/** What the transports are opened with. */
export interface TransportOptions {
  readonly host: string;
  /** 0 takes one port that is free for both. */
  readonly port: number;
  onMessage(message: SipMessage, source: Peer): void;
  onMalformed(source: Peer): void;
}

/** The open sockets. */
export interface Transports {
  readonly port: number;
  /** Sends a message; a TCP connection is opened when there is none. Failures are silent: the transaction's timers see them. */
  send(text: string, peer: Peer): void;
  close(): Promise<void>;
}

const HEADER_END = Buffer.from('\r\n\r\n');
const MAX_PORT = 65_535;
const MAX_CONNECTIONS = 4_096;
const TCP_CONNECT_MS = 5_000;

/** Opens both transports; rejects when the address cannot be bound. */
export async function openTransports(options: TransportOptions): Promise<Transports> {
  for (let attempt = 0; ; attempt++) {
    const tcp = await listenTcp(options);
    const address = tcp.address();
    const port = typeof address === 'object' && address ? address.port : options.port;
    try {
      const udp = await bindUdp(options, port);
      return new BoundTransports(options, { tcp, udp, port });
    } catch (error) {
      tcp.close();
      // The port was free for TCP only; with port 0 another one will do.
      if (options.port !== 0 || attempt > 20) throw error;
    }
  }
}

class BoundTransports implements Transports {
  readonly port: number;
  readonly #options: TransportOptions;
  readonly #tcp: Server;
  readonly #udp: UdpSocket;
  readonly #connections = new Map<string, Socket>();
  #isClosed = false;

  constructor(options: TransportOptions, bound: { readonly tcp: Server; readonly udp: UdpSocket; readonly port: number }) {
    this.#options = options;
    this.#tcp = bound.tcp;
    this.#udp = bound.udp;
    this.port = bound.port;
    this.#tcp.on('connection', (socket) => this.#adopt(socket));
    this.#udp.on('error', () => undefined);
    this.#udp.on('message', (bytes, from) => {
      const source: Peer = { transport: 'udp', address: from.address, port: from.port };
      // Empty lines keep a NAT binding open (RFC 5626 §3.5.1).
      if (bytes.length <= 4) return;
      this.#take(bytes, source);
    });
  }

  send(text: string, peer: Peer): void {
    // Ports come out of messages: what nobody can be reached by must not throw into a timer.
    if (this.#isClosed || !Number.isInteger(peer.port) || peer.port < 1 || peer.port > MAX_PORT) return;
    if (peer.transport === 'udp') {
      if (isIP(peer.address) === 0 && peer.address !== 'localhost') return;
      this.#udp.send(text, peer.port, peer.address, () => undefined);
      return;
    }
    const socket = this.#connections.get(keyOf(peer)) ?? this.#open(peer);
    socket.write(text);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const socket of this.#connections.values()) socket.destroy();
    await Promise.all([new Promise<void>((resolve) => this.#tcp.close(() => resolve())), new Promise<void>((resolve) => this.#udp.close(resolve))]);
  }

  #open(peer: Peer): Socket {
    const socket = connect({ host: peer.address, port: peer.port, timeout: TCP_CONNECT_MS });
    socket.once('connect', () => socket.setTimeout(0));
    socket.once('timeout', () => socket.destroy());
    this.#read(socket, peer);
    return socket;
  }

  #adopt(socket: Socket): void {
    if (this.#connections.size >= MAX_CONNECTIONS) socket.destroy();
    else this.#read(socket, { transport: 'tcp', address: (socket.remoteAddress ?? '').replace(/^::ffff:/, ''), port: socket.remotePort ?? 0 });
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
        if (framed === 'broken') {
          this.#options.onMalformed(peer);
          socket.destroy();
          return;
        }
        waiting = framed.rest;
        if (framed.message.length > 0) this.#take(framed.message, peer);
      }
    });
  }

  #take(bytes: Buffer, source: Peer): void {
    const message = parseMessage(bytes.toString('utf8'));
    if (message) this.#options.onMessage(message, source);
    else this.#options.onMalformed(source);
  }
}

/** One message from the front of a stream, by its Content-Length (RFC 3261 §18.3); an empty one is a keep-alive. */
function takeFrame(bytes: Buffer): { message: Buffer; rest: Buffer } | 'more' | 'broken' {
  let from = 0;
  while (from < bytes.length && (bytes[from] === 13 || bytes[from] === 10)) from += 1;
  if (from > 0) return { message: Buffer.alloc(0), rest: bytes.subarray(from) };
  const headEnd = bytes.indexOf(HEADER_END);
  if (headEnd < 0) return bytes.length > MAX_MESSAGE_BYTES ? 'broken' : 'more';
  const head = parseMessage(`${bytes.toString('utf8', 0, headEnd).replace(/\r\n(content-length|l)[ \t]*:[ \t]*(\d+)/i, '\r\nX-Length: $2')}\r\n\r\n`);
  if (!head) return 'broken';
  const length = header(head, 'x-length');
  const total = headEnd + HEADER_END.length + Number(length ?? 0);
  if (!Number.isSafeInteger(total) || total > MAX_MESSAGE_BYTES) return 'broken';
  return bytes.length < total ? 'more' : { message: bytes.subarray(0, total), rest: bytes.subarray(total) };
}

function listenTcp(options: TransportOptions): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(options.port, options.host, () => resolve(server));
  });
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
  return `${peer.address}:${peer.port}`;
}

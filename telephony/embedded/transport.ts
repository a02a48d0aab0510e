/**
 * SIP over UDP and TCP on one address, and over TLS beside it (RFC 3261 §18): the text of whole messages in
 * both directions. Nothing received can throw; the layer above parses the text.
 */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { lookup } from 'node:dns';
import { connect, createServer, isIP, type LookupFunction, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, rootCertificates, connect as tlsConnect } from 'node:tls';
import type { Clock } from '#base/clock.ts';
import { isPublicAddress } from '#base/public-address.ts';
import { LIMITS } from '#config/limits.ts';
import { type ConnectionLimits, Connections } from './connections.ts';
import { MessageStream } from './message-stream.ts';

/** Source or destination of a message. */
export interface Peer {
  readonly transport: 'udp' | 'tcp' | 'tls';
  readonly address: string;
  readonly port: number;
  /** Over TLS: the name the certificate must match, if it is not the address itself. */
  readonly name?: string;
  /**
   * Set if the address is a name that a peer has written. True: it may stand for public addresses only. A
   * message from there has the address that was found for the name as its source: the name proves nothing.
   */
  readonly mustBePublic?: boolean;
}

/** Settings of TLS, all in PEM. */
export interface SipTls {
  /** 0 picks a free port. */
  readonly port: number;
  /** Our certificate, presented in both directions. */
  readonly certificate: string | Buffer;
  readonly key: string | Buffer;
  /** Trusted in addition to the well-known authorities when we connect; null: only those. */
  readonly authorities: string | Buffer | null;
}

/** Options of the transports. */
export interface TransportOptions {
  readonly host: string;
  /** 0 picks one port that is free for both. */
  readonly port: number;
  /** Null: TLS is disabled. */
  readonly tls: SipTls | null;
  readonly clock: Clock;
  /** Tests set other limits. */
  readonly limits?: ConnectionLimits;
  /** Handles a message, or text that should have been one; returns true for a message. */
  onMessage(text: string, source: Peer): boolean;
  /** Nothing could be sent to this destination. */
  onUnreachable(peer: Peer): void;
}

/** The open sockets. */
export interface Transports {
  readonly port: number;
  /** Null if TLS is disabled. */
  readonly tlsPort: number | null;
  /** Sends a message; opens a connection if there is none. */
  send(text: string, peer: Peer): void;
  /** False over TCP and TLS if there is no connection. */
  isConnected(peer: Peer): boolean;
  close(): Promise<void>;
}

const MAX_PORT = 65_535;
const CONNECT_MS = 5_000;
/** Answers two empty lines of a phone that keeps its connection open (RFC 5626 §3.5.1). */
const PONG = '\r\n';

/** Opens them all; rejects if an address cannot be bound. */
export async function openTransports(options: TransportOptions): Promise<Transports> {
  const plain = await bindPlain(options);
  try {
    return new BoundTransports(options, {
      ...plain,
      tls: options.tls && (await listenTls(options.host, options.tls)),
    });
  } catch (error) {
    plain.tcp.close();
    plain.udp.close();
    throw error;
  }
}

/** Binds UDP and TCP to one port. */
async function bindPlain(
  options: TransportOptions,
): Promise<{ readonly tcp: Server; readonly udp: UdpSocket; readonly port: number }> {
  for (let attempt = 0; ; attempt++) {
    const tcp = await listenTcp(options);
    const port = portOf(tcp);
    try {
      return { tcp, udp: await bindUdp(options, port), port };
    } catch (error) {
      tcp.close();
      // The port was free for TCP only; with port 0 another is tried.
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
  readonly #sockets = new Map<string, Socket>();
  readonly #connections: Connections;
  #isClosed = false;

  constructor(
    options: TransportOptions,
    bound: {
      readonly tcp: Server;
      readonly udp: UdpSocket;
      readonly tls: Server | null;
      readonly port: number;
    },
  ) {
    this.#options = options;
    this.#servers = bound.tls ? [bound.tcp, bound.tls] : [bound.tcp];
    this.#udp = bound.udp;
    this.#connections = new Connections(options.clock, options.limits);
    this.port = bound.port;
    this.tlsPort = bound.tls && portOf(bound.tls);
    bound.tcp.on('connection', (socket) => {
      const peer = this.#admit(socket, 'tcp');
      if (peer) this.#read(socket, peer);
    });
    // It counts before the handshake, which may never be completed.
    bound.tls?.on('connection', (socket: Socket) => this.#admit(socket, 'tls'));
    bound.tls?.on('secureConnection', (socket: Socket) => this.#read(socket, peerOf(socket, 'tls')));
    this.#udp.on('error', () => undefined);
    this.#udp.on('message', (bytes, from) => {
      const source: Peer = { transport: 'udp', address: from.address, port: from.port };
      // Empty lines keep a NAT binding open (RFC 5626 §3.5.1).
      if (bytes.length <= 4) return;
      this.#options.onMessage(bytes.toString('utf8'), source);
    });
  }

  send(text: string, peer: Peer): void {
    // Ports are taken from messages: an invalid one must not throw in a timer.
    if (this.#isClosed || !Number.isInteger(peer.port) || peer.port < 1 || peer.port > MAX_PORT) return;
    if (peer.transport === 'udp') {
      this.#udp.send(text, peer.port, peer.address, (error) => {
        if (error && !this.#isClosed) this.#options.onUnreachable(peer);
      });
      return;
    }
    const key = keyOf(peer);
    const socket = this.#sockets.get(key) ?? this.#open(peer);
    if (!socket) return;
    this.#connections.used(key);
    // A peer that sends requests but does not read must not make answers pile up here.
    if (socket.writableLength > LIMITS.sipUnsentBytes) socket.destroy();
    else socket.write(text);
  }

  isConnected(peer: Peer): boolean {
    return peer.transport === 'udp' || this.#sockets.has(keyOf(peer));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connections.close();
    const closed = this.#servers.map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    );
    await Promise.all([...closed, new Promise<void>((resolve) => this.#udp.close(resolve))]);
  }

  #open(peer: Peer): Socket | null {
    const socket = this.#connect(peer);
    if (socket === null) return null;
    let isOpen = false;
    socket.once(peer.transport === 'tls' ? 'secureConnect' : 'connect', () => {
      isOpen = true;
      socket.setTimeout(0);
      if (peer.mustBePublic !== undefined) this.#hold(socket, peerOf(socket, peer.transport));
    });
    socket.once('timeout', () => socket.destroy());
    this.#connections.add(keyOf(peer), socket);
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
    const servername = peer.name ?? peer.address;
    const name = isIP(servername) === 0 ? { servername } : {};
    const only = peer.mustBePublic ? { lookup: lookUpPublic } : {};
    return tlsConnect({ ...to, ...name, ...only, ...ca, cert: tls.certificate, key: tls.key });
  }

  /** The peer of a connection, if the connection is accepted. */
  #admit(socket: Socket, transport: 'tcp' | 'tls'): Peer | null {
    const peer = peerOf(socket, transport);
    return this.#connections.admit(keyOf(peer), socket, peer.address) ? peer : null;
  }

  #read(socket: Socket, peer: Peer): void {
    const key = keyOf(peer);
    this.#hold(socket, peer);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    const stream = new MessageStream();
    socket.on('data', (chunk) => {
      const source = peer.mustBePublic === undefined ? peer : peerOf(socket, peer.transport);
      for (const { text, isBroken } of stream.take(chunk)) {
        const isMessage = this.#options.onMessage(text, source);
        this.#connections.heard(key, { isWhole: isMessage && !isBroken, isPartial: isBroken });
        if (!isBroken) continue;
        socket.removeAllListeners('data');
        socket.resume();
        socket.end();
      }
      this.#connections.heard(key, { isWhole: false, isPartial: stream.isPartial });
      if (stream.takePing() && socket.writable) this.send(PONG, peer);
    });
  }

  /** Messages to this peer go over this connection while it lasts. */
  #hold(socket: Socket, peer: Peer): void {
    const key = keyOf(peer);
    this.#sockets.set(key, socket);
    socket.on('close', () => {
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key);
    });
  }
}

/** Finds the public addresses of a name; fails if it has others. */
const lookUpPublic: LookupFunction = (name, options, callback) => {
  lookup(name, { ...options, all: true }, (error, found) => {
    const [first] = found ?? [];
    if (error || !first) callback(error ?? new Error('the name has no address'), []);
    else if (!found.every(({ address }) => isPublicAddress(address)))
      callback(new Error('the name has an address that is not public'), []);
    else if (options.all) callback(null, found);
    else callback(null, first.address, first.family);
  });
};

function listenTcp(options: TransportOptions): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(options.port, options.host, () => resolve(server));
  });
}

function listenTls(host: string, { port, certificate, key }: SipTls): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createTlsServer({ cert: certificate, key, handshakeTimeout: CONNECT_MS }).once(
      'error',
      reject,
    );
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
    const socket = createSocket({
      type: isIP(options.host) === 6 ? 'udp6' : 'udp4',
      recvBufferSize: 1 << 20,
    }).once('error', reject);
    socket.bind(port, options.host, () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}

function peerOf(socket: Socket, transport: Peer['transport']): Peer {
  return {
    transport,
    address: (socket.remoteAddress ?? '').replace(/^::ffff:/, ''),
    port: socket.remotePort ?? 0,
  };
}

function keyOf({ transport, address, port, name, mustBePublic }: Peer): string {
  const proven = name === undefined ? '' : `/${name}`;
  const written = mustBePublic === undefined ? '' : mustBePublic ? '/public' : '/any';
  return `${transport}:${address}:${port}${proven}${written}`;
}

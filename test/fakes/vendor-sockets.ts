/**
 * Common base of the speech-vendor stand-ins: a server for WebSockets and HTTP requests on a free port of
 * 127.0.0.1, with the faults common to all vendors.
 *
 * vendor.fault = { status: 429 };           // from now on
 * vendor.fault = { halfOpen: 'upgrade' };   // the socket opens, then stays silent
 * vendor.fault = { halfOpen: 'answers' };   // messages are accepted, never answered
 * vendor.cut();                             // breaks the open ones
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { listenLocally } from './local-server.ts';

/** Fault for connections while it is set. */
export type SocketFault = { readonly status: number } | { readonly halfOpen: 'upgrade' | 'answers' };

/** One connection as seen by the stand-in. */
export interface VendorConnection {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Received JSON messages, in order. */
  readonly messages: Record<string, unknown>[];
  /** Bytes received in all other messages. */
  audioBytes: number;
  isOpen: boolean;
  /** Sends a message unless a fault prevents it: a text and bytes as they are, anything else as JSON. */
  say(message: object | Buffer | string): void;
  close(code: number): void;
}

/** Reads what a client sends. */
interface VendorListener {
  onJson?(message: Record<string, unknown>): void;
  /** For a protocol whose texts are not JSON: gets them instead, and keeps the messages itself. */
  onText?(text: string): void;
  onAudio?(bytes: Buffer): void;
}

/** One vendor's side of the protocol. */
export interface VendorProtocol {
  /** Accepts a connection and returns its message handler. Null answers the upgrade with 404. */
  accept(connection: VendorConnection): VendorListener | null;
  /** HTTP status that refuses the upgrade to this address; null, or absent: it is accepted. */
  refusalOf?(url: URL): number | null;
  /** Reads the message in a request, which then counts as a connection. Absent: requests do not. */
  messageOf?(body: Buffer): Record<string, unknown>;
  /** Answers a request after its body has been read. */
  answer?(request: IncomingMessage, body: Buffer, response: ServerResponse): void;
  /** True if the headers carry the right key. */
  mayEnter(headers: IncomingMessage['headers']): boolean;
}

/** A running stand-in. */
export interface VendorServer {
  /** For `<VENDOR>_BASE_URL`. */
  readonly url: string;
  readonly connections: readonly VendorConnection[];
  fault: SocketFault | null;
  cut(): void;
  close(): Promise<void>;
}

export async function startVendorServer(protocol: VendorProtocol): Promise<VendorServer> {
  const connections: VendorConnection[] = [];
  let fault: SocketFault | null = null;
  const respond = (request: IncomingMessage, response: ServerResponse, body: Buffer) => {
    const mayEnter = protocol.mayEnter(request.headers);
    const message = mayEnter ? protocol.messageOf?.(body) : undefined;
    if (message) connections.push(requestAs(request, response, message));
    if (fault) return;
    if (!mayEnter) response.writeHead(401).end();
    else if (protocol.answer) protocol.answer(request, body, response);
    else response.writeHead(404).end();
  };
  const http = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    if (fault && 'status' in fault) response.writeHead(fault.status).end();
    else respond(request, response, Buffer.concat(pieces));
  });
  const sockets = new WebSocketServer({ noServer: true });
  const upgraded = new Set<Duplex>();

  http.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {});
    upgraded.add(socket);
    socket.on('close', () => upgraded.delete(socket));
    const refuse = (status: number) =>
      void socket.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    if (fault && 'status' in fault) return refuse(fault.status);
    if (fault?.halfOpen === 'upgrade') return;
    if (!protocol.mayEnter(request.headers)) return refuse(401);
    const url = new URL(request.url ?? '/', 'ws://stand-in');
    const refusal = protocol.refusalOf?.(url) ?? null;
    if (refusal !== null) return refuse(refusal);
    sockets.handleUpgrade(request, socket, head, (accepted: WebSocket) => {
      const connection: VendorConnection = {
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        messages: [],
        audioBytes: 0,
        isOpen: true,
        say(message) {
          if (fault !== null || accepted.readyState !== accepted.OPEN) return;
          const isRaw = typeof message === 'string' || Buffer.isBuffer(message);
          accepted.send(isRaw ? message : JSON.stringify(message));
        },
        close(code) {
          if (fault === null) accepted.close(code);
        },
      };
      const listener = protocol.accept(connection);
      if (!listener) return accepted.close(1008);
      connections.push(connection);
      accepted.on('close', () => {
        connection.isOpen = false;
      });
      accepted.on('message', (data: Buffer, isBinary) => {
        if (isBinary) {
          connection.audioBytes += data.length;
          return listener.onAudio?.(data);
        }
        if (listener.onText) return listener.onText(String(data));
        const message = JSON.parse(String(data)) as Record<string, unknown>;
        connection.messages.push(message);
        listener.onJson?.(message);
      });
    });
  });

  const { port, close } = await listenLocally(http);
  return {
    url: `ws://127.0.0.1:${port}`,
    connections,
    get fault() {
      return fault;
    },
    set fault(value) {
      fault = value;
    },
    cut: () => {
      for (const socket of sockets.clients) socket.terminate();
      http.closeAllConnections();
    },
    close: () => {
      for (const socket of upgraded) socket.destroy();
      return close();
    },
  };
}

function requestAs(
  request: IncomingMessage,
  response: ServerResponse,
  message: Record<string, unknown>,
): VendorConnection {
  const url = new URL(request.url ?? '/', 'http://stand-in');
  const seen: VendorConnection = {
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    messages: [message],
    audioBytes: 0,
    isOpen: true,
    say: () => {},
    close: () => response.destroy(),
  };
  response.on('close', () => {
    seen.isOpen = false;
  });
  return seen;
}

/** Speech of a stand-in: a tone of 100 ms per word of the text. */
export function toneFor(text: string, rateHz: number): Int16Array {
  const words = text.match(/\S+/g)?.length ?? 0;
  return Int16Array.from({ length: (rateHz * words) / 10 }, (_, index) =>
    Math.round(4_000 * Math.sin(index / 5)),
  );
}

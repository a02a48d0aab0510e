/** `GET /internal/worker-link`: upgrades an authenticated worker's request to the worker link (design.md §2). Nothing else may upgrade. */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { MAX_LINK_FRAME_BYTES } from './worker-connection.ts';
import type { WorkerHub } from './worker-hub.ts';

const PATH = '/internal/worker-link';

/** Serves the worker link on an HTTP server; returns what closes it. */
export function serveWorkerLink(server: Server, hub: WorkerHub, workerToken: string): { close(): void } {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_LINK_FRAME_BYTES });
  const onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Whoever asked may be gone already; without a listener its reset would end the process.
    socket.on('error', () => socket.destroy());
    if (request.url !== PATH) refuse(socket, '404 Not Found');
    else if (!isWorker(request.headers.authorization, workerToken)) refuse(socket, '401 Unauthorized\r\nWWW-Authenticate: Bearer');
    else sockets.handleUpgrade(request, socket, head, (connection) => hub.accept(connection));
  };
  server.on('upgrade', onUpgrade);
  return {
    close() {
      server.off('upgrade', onUpgrade);
      hub.close();
      sockets.close();
    },
  };
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy());
}

/** True when the header carries the workers' token; compared in constant time. */
export function isWorker(authorization: string | undefined, workerToken: string): boolean {
  const given = Buffer.from(authorization ?? '');
  const expected = Buffer.from(`Bearer ${workerToken}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

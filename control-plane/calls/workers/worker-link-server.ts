/** `GET /internal/worker-link`: upgrades requests of authenticated workers to the worker link. */
import type { Server } from 'node:http';
import { WebSocketServer } from 'ws';
import { claimWorkersUpgrade } from '../../platform/http/internal-access.ts';
import { MAX_LINK_FRAME_BYTES } from './worker-connection.ts';
import type { WorkerHub } from './worker-hub.ts';

const PATH = '/internal/worker-link';

/**
 * Serves the worker link on an HTTP server. Returns a close function that resolves when no write for it is in
 * progress.
 */
export function serveWorkerLink(
  server: Server,
  hub: WorkerHub,
  workerToken: string,
): { close(): Promise<void> } {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_LINK_FRAME_BYTES,
    // An answer extends the time that a worker may speak: the connection decides when to give it.
    autoPong: false,
  });
  const unclaim = claimWorkersUpgrade(server, PATH, {
    workerToken,
    upgrade: (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (connection) => hub.accept(connection)),
  });
  return {
    close() {
      unclaim();
      const closed = hub.close();
      sockets.close();
      return closed;
    },
  };
}

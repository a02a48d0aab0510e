/** `WS /v1/tts/live` and `WS /v1/tts/live/with-timestamp`: a refused client gets an HTTP answer. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { Fault, fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../../platform/context.ts';
import { callerOfHeader } from '../../platform/http/auth.ts';
import { closeWithKey } from '../../platform/http/close-with-key.ts';
import { retryAfter } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { claimUpgrade, refuseUpgrade } from '../../platform/http/upgrades.ts';
import { serveLiveSession } from './live-session.ts';
import { admit } from './speech-service.ts';

const PATH = '/v1/tts/live';

/** Serves live synthesis on the server's own port. */
export function registerLiveRoutes(app: ApiServer, context: Context): void {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LIMITS.synthesisBodyBytes });
  const accept = (withTimestamps: boolean) => (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    admitUpgrade(context, { request, socket }).then(
      (caller) => {
        // A client that disconnected meanwhile never becomes a session.
        if (!caller || socket.destroyed) return;
        sockets.handleUpgrade(request, socket, head, (connection) => {
          serveLiveSession(connection, {
            context,
            caller,
            model: String(request.headers['model'] ?? ''),
            withTimestamps,
          });
          closeWithKey(context, caller, connection);
        });
      },
      (error: unknown) => refuse(context, socket, error),
    );
  };
  claimUpgrade(app.server, PATH, accept(false));
  claimUpgrade(app.server, `${PATH}/with-timestamp`, accept(true));
  app.addHook('onClose', () => {
    for (const socket of sockets.clients) socket.close(1001, 'The service is shutting down');
    sockets.close();
  });
}

async function admitUpgrade(
  context: Context,
  { request, socket }: { request: IncomingMessage; socket: Duplex },
) {
  const caller = await callerOfHeader(context, request.headers.authorization);
  if (!caller) {
    refuseUpgrade(socket, 401, { headers: { 'WWW-Authenticate': 'Bearer' } });
    return null;
  }
  // A place is held only during speech; a client that would find none is refused now, while a status is still
  // possible.
  (await admit(context, caller, 'synthesis')).release();
  return caller;
}

function refuse(context: Context, socket: Duplex, error: unknown): void {
  if (!(error instanceof Fault)) context.logger.error({ err: error }, 'failed to admit a live synthesis');
  const problem = error instanceof Fault ? error : fault('internal');
  const { status, message, reason } = problem;
  refuseUpgrade(socket, status, { headers: retryAfter(problem), body: { status, message, reason } });
}

/**
 * `WS /v1/agent/text-sessions/{id}/ws`: a text session over one connection. The client sends messages as
 * JSON, and gets the events of each turn and its answer. Messages are answered in their order.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { Fault, fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../../platform/context.ts';
import { type Caller, callerOfHeader } from '../../platform/http/auth.ts';
import { closeWithKey } from '../../platform/http/close-with-key.ts';
import { retryAfter } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { claimUpgrade, refuseUpgrade } from '../../platform/http/upgrades.ts';
import type { TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import { findTextSession } from './text-session-store.ts';
import { serveTextSocket } from './text-socket.ts';

const PREFIX = '/v1/agent/text-sessions/';
/** JSON escapes at most six bytes a character. */
const MAX_FRAME_BYTES = LIMITS.textMessageChars * 6 + 4_096;
const RETRY_SECONDS = 10;

/** Serves text sessions on the server's own port. */
export function registerTextSocketRoutes(app: ApiServer, context: Context): void {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES });
  const open = new Map<string, number>();
  claimUpgrade(app.server, `${PREFIX}*/ws`, (request, socket, head) => {
    admit(context, open, { request, socket }).then(
      (admitted) => {
        if (!admitted || socket.destroyed) return;
        const { caller, session } = admitted;
        open.set(session.team_id, (open.get(session.team_id) ?? 0) + 1);
        socket.once('close', () => leave(open, session.team_id));
        sockets.handleUpgrade(request, socket, head, (connection) => {
          serveTextSocket(context, connection, session);
          closeWithKey(context, caller, connection);
        });
      },
      (error: unknown) => refuse(context, socket, error),
    );
  });
  app.addHook('onClose', () => {
    for (const socket of sockets.clients) socket.close(1001, 'The service is shutting down');
    sockets.close();
  });
}

async function admit(
  context: Context,
  open: ReadonlyMap<string, number>,
  { request, socket }: { readonly request: IncomingMessage; readonly socket: Duplex },
): Promise<{ readonly caller: Caller; readonly session: TextSessionDocument } | null> {
  const caller = await callerOfHeader(context, request.headers.authorization);
  if (!caller) {
    refuseUpgrade(socket, 401, { headers: { 'WWW-Authenticate': 'Bearer' } });
    return null;
  }
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const sessionId = path.slice(PREFIX.length, -'/ws'.length).slice(0, 64);
  const session = await findTextSession(context, caller.teamId, sessionId);
  // After all that waits, so that those that come at once are counted.
  const limit = LIMITS.textSockets;
  if ((open.get(caller.teamId) ?? 0) >= limit)
    throw fault('too_many_at_once', {
      limit,
      what: 'connections of text sessions',
      remedy: 'close one',
      seconds: RETRY_SECONDS,
    });
  return { caller, session };
}

function leave(open: Map<string, number>, teamId: string): void {
  const left = (open.get(teamId) ?? 1) - 1;
  if (left > 0) open.set(teamId, left);
  else open.delete(teamId);
}

function refuse(context: Context, socket: Duplex, error: unknown): void {
  if (!(error instanceof Fault)) context.logger.error({ err: error }, 'failed to admit a text socket');
  const problem = error instanceof Fault ? error : fault('internal');
  const { status, message, reason } = problem;
  refuseUpgrade(socket, status, { headers: retryAfter(problem), body: { status, message, reason } });
}

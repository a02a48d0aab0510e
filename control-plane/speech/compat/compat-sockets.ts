/**
 * WebSockets of the compatible APIs: a refused client gets an HTTP answer in the vendor's format, and every
 * connection has a time limit.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { SpeechSlot } from '#media/speech/pool/speech-thread.ts';
import type { Context } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import { closeWithKey } from '../../platform/http/close-with-key.ts';
import { retryAfter } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { claimUpgrade, refuseUpgrade } from '../../platform/http/upgrades.ts';
import { admit } from '../requests/speech-service.ts';
import { compatFault } from './compat-errors.ts';
import { type CompatStyle, requireCaller } from './compat-scope.ts';

/** An accepted socket. It occupies one of the account's places until it closes. */
export interface Seat {
  readonly socket: WebSocket;
  readonly caller: Caller;
  readonly slot: SpeechSlot;
  /** Aborted when the socket closes. */
  readonly closed: AbortSignal;
}

/** How a path is served. */
export interface SocketRoute<Parameters> {
  /** `*` stands for one segment. */
  readonly path: string;
  readonly style: CompatStyle;
  /** The key, if it is not in a header. */
  keyOf?(query: URLSearchParams): string | null;
  /** Parses the URL; throws a fault for requests refused at once. */
  read(query: URLSearchParams, segments: readonly string[], caller: Caller): Parameters | Promise<Parameters>;
  serve(seat: Seat, asked: Parameters): void;
}

/** Accepts connections on a path of the server's own port. */
export function registerSocket<Parameters>(
  app: ApiServer,
  context: Context,
  route: SocketRoute<Parameters>,
): void {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: LIMITS.compatFrameBytes });
  claimUpgrade(app.server, route.path, (request, socket, head) => {
    letIn(context, route, request).then(
      ({ caller, slot, asked }) => {
        // A client that disconnected meanwhile never becomes a session.
        if (socket.destroyed) return slot.release();
        sockets.handleUpgrade(request, socket, head, (connection) =>
          route.serve(seatOf(context, connection, { caller, slot }), asked),
        );
      },
      (error: unknown) => refuse(context, { socket, style: route.style }, error),
    );
  });
  app.addHook('onClose', () => {
    for (const socket of sockets.clients) socket.close(1001, 'The service is shutting down');
    sockets.close();
  });
}

async function letIn<Parameters>(context: Context, route: SocketRoute<Parameters>, request: IncomingMessage) {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://parley');
  const caller = await requireCaller(
    context,
    route.style,
    route.style.keyOf(request.headers) ?? route.keyOf?.(searchParams) ?? null,
  );
  const asked = await route.read(searchParams, pathname.split('/').map(decodeSegment), caller);
  return { caller, asked, slot: await admit(context, caller, 'synthesis') };
}

function seatOf(context: Context, socket: WebSocket, { caller, slot }: Pick<Seat, 'caller' | 'slot'>): Seat {
  const closed = new AbortController();
  const longest = context.clock.after(LIMITS.compatConnectionMs, () =>
    socket.close(1000, 'The connection has lasted an hour'),
  );
  closeWithKey(context, caller, socket);
  socket.on('error', () => socket.terminate());
  socket.on('close', () => {
    longest.cancel();
    closed.abort(new Error('the client disconnected'));
    slot.release();
  });
  return { socket, caller, slot, closed: closed.signal };
}

function refuse(
  context: Context,
  { socket, style }: { socket: Duplex; style: CompatStyle },
  error: unknown,
): void {
  const problem = compatFault(error);
  if (problem.status === 500)
    context.logger.error({ err: error }, 'failed to admit a socket of a compatible API');
  const headers = retryAfter(problem);
  if (problem.status === 401) headers['WWW-Authenticate'] = 'Bearer';
  refuseUpgrade(socket, problem.status, { headers, body: style.errorBody(problem) });
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Parses a JSON message. Throws `malformed_json` if it is not an object. */
export function readJson(data: Buffer): Readonly<Record<string, unknown>> {
  const value = parseJson(data.toString('utf8'));
  if (typeof value !== 'object' || value === null) throw fault('malformed_json');
  return value as Record<string, unknown>;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw fault('malformed_json', {}, { cause: error });
  }
}

/** A client that sends without reading is disconnected above this. */
const MAX_UNREAD_BYTES = 64 * 1_048_576;

/** Sends a JSON message, unless the socket has closed. */
export function sendJson({ socket }: Pick<Seat, 'socket'>, message: object): void {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.bufferedAmount > MAX_UNREAD_BYTES) socket.terminate();
  else socket.send(JSON.stringify(message));
}

/** Unread audio at which synthesis waits for a slow reader. */
const MAX_UNSENT_BYTES = 512 * 1_024;
const UNSENT_CHECK_MS = 20;

/** Waits for a slow reader; throws if the socket closes. */
export async function roomFor(
  context: Context,
  { socket, closed }: Pick<Seat, 'socket' | 'closed'>,
): Promise<void> {
  while (socket.bufferedAmount > MAX_UNSENT_BYTES) await context.clock.sleep(UNSENT_CHECK_MS, closed);
}

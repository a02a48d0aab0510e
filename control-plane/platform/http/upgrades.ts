/**
 * Routes WebSocket upgrades on an HTTP server by path: each part claims its paths, all other upgrades are
 * refused with 404.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { STATUS_CODES } from '#base/node-http.ts';

/** Handles an upgrade request, or refuses it. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

const claims = new WeakMap<Server, Map<string, Upgrade>>();

/**
 * Handles upgrades of this path (ignoring the query); `*` matches any one segment. Returns a function that
 * releases the path.
 */
export function claimUpgrade(server: Server, path: string, upgrade: Upgrade): () => void {
  const byPath = claims.get(server) ?? listen(server);
  byPath.set(path, upgrade);
  return () => byPath.delete(path);
}

/** Refuses an upgrade request with a status, headers and a JSON body. */
export function refuseUpgrade(
  socket: Duplex,
  status: number,
  { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
): void {
  const content = body === undefined ? '' : JSON.stringify(body);
  const all = {
    ...headers,
    ...(content === '' ? {} : { 'Content-Type': 'application/json' }),
    Connection: 'close',
    'Content-Length': String(Buffer.byteLength(content)),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${content}`,
    () => socket.destroy(),
  );
}

function listen(server: Server): Map<string, Upgrade> {
  const byPath = new Map<string, Upgrade>();
  claims.set(server, byPath);
  server.on('upgrade', (request, socket, head) => {
    // The client may already have disconnected; without a listener the reset would crash the process.
    socket.on('error', () => socket.destroy());
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const upgrade = byPath.get(path) ?? [...byPath].find(([pattern]) => matches(pattern, path))?.[1];
    if (upgrade) upgrade(request, socket, head);
    else refuseUpgrade(socket, 404);
  });
  return byPath;
}

function matches(pattern: string, path: string): boolean {
  const [wanted, asked] = [pattern.split('/'), path.split('/')];
  return (
    wanted.length === asked.length &&
    wanted.every((segment, index) => segment === '*' || segment === asked[index])
  );
}

/**
 * Serves only the internal routes (`/internal/…`), over plain HTTP on the loopback address. Local components
 * use it when the public server speaks TLS, because its certificate is for the public host and not for
 * 127.0.0.1.
 */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from '#base/node-http.ts';

/**
 * Serves the internal routes on a port of 127.0.0.1; `handle` is the router of the public server. Rejects
 * when the port is taken.
 */
export async function serveInternal(
  port: number,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/internal/')) handle(request, response);
    else response.writeHead(404).end();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

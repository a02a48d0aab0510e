/**
 * The product's own routes (`/internal/…`) over plain http on the loopback address: for the parts of the same
 * machine where the public server speaks TLS, whose certificate names the public host and not 127.0.0.1.
 * Nothing else is served here.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

/**
 * Serves the internal routes on a port of 127.0.0.1; `handle` is the public server's own routing. Rejects
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

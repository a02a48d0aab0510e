/** Where stand-ins answer: an HTTP server on a free port of 127.0.0.1. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that listens. */
export interface LocalServer {
  readonly port: number;
  /** Breaks what is open and resolves when it is gone. */
  close(): Promise<void>;
}

/** Has a server listen. */
export async function listenLocally(server: Server): Promise<LocalServer> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

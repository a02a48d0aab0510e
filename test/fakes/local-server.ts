/** Common base of the stand-ins: an HTTP server on a free port of 127.0.0.1. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A listening server. */
export interface LocalServer {
  readonly port: number;
  /** Breaks open connections and resolves once the server has closed. */
  close(): Promise<void>;
}

/** Starts listening. */
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

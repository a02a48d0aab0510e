/** A TCP connection that can be cut: what is told this address reaches the other one through it, until someone takes the knife. */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** A relay on the loopback. */
export interface Link {
  readonly port: number;
  /** Breaks every connection, without a goodbye, and lets none through until `mend`. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

/** Relays a port of its own to `targetPort`. */
export async function openLink(targetPort: number): Promise<Link> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.resetAndDestroy();
      return;
    }
    const far = connect(targetPort, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.resetAndDestroy();
    },
    mend() {
      isCut = false;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

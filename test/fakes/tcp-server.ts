/** A TCP server whose test handles each connection. */
import { type AddressInfo, createServer, type Socket } from 'node:net';

/** Listens on a free loopback port; `close` cuts every connection. */
export async function listenTcp(
  serve: (socket: Socket) => void,
): Promise<{ readonly port: number; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** A UDP port for a program that must be told which one to use. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A port of 127.0.0.1 that nobody holds right now. */
export async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  return port;
}

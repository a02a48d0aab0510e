/** Ports of 127.0.0.1 that are in use. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A port in use. */
interface Occupant {
  readonly port: number;
  free(): void;
}

/** Occupies a TCP port. */
export async function occupyTcp(): Promise<Occupant> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, free: () => server.close() };
}

/** Occupies a UDP port. */
export async function occupyUdp(): Promise<Occupant> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { port: socket.address().port, free: () => socket.close() };
}

/** Free ports for programs that must be given their port. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_PORT = 12_000;
const PORTS = 6_000;

/** A currently free UDP port of 127.0.0.1. */
export async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  return port;
}

/** A currently free UDP and TCP port of 127.0.0.1, like `freeTcpPort` outside the ephemeral range. */
export async function freeSipPort(): Promise<number> {
  for (;;) {
    const port = await freeTcpPort();
    if (await isFreeForUdp(port)) return port;
  }
}

/**
 * A currently free UDP port for the audio of sipp, which binds the second one after it for video, too.
 * Outside the ephemeral range: sipp binds them later, and others may have got them meanwhile.
 */
export async function freeSippMediaPort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + 4 * Math.floor((Math.random() * PORTS) / 4);
    if ((await isFreeForUdp(port)) && (await isFreeForUdp(port + 2))) return port;
  }
}

/**
 * A currently free TCP port of 127.0.0.1, outside the ephemeral range: repeated connection attempts to an
 * ephemeral port without a listener eventually connect to themselves and occupy the port.
 */
export async function freeTcpPort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
}

function isFreeForUdp(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.once('error', () => resolve(false));
    socket.bind(port, '127.0.0.1', () => socket.close(() => resolve(true)));
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/**
 * Waits until a program has bound a UDP port of 127.0.0.1, or has had time to. Earlier datagrams may be
 * rejected as undeliverable.
 */
export async function untilUdpTaken(port: number): Promise<void> {
  const local = ` 0100007F:${port.toString(16).toUpperCase().padStart(4, '0')} `;
  for (let tries = 0; tries < 500; tries++) {
    // Only Linux provides this file.
    const sockets = await readFile('/proc/net/udp', 'utf8').catch(() => local);
    if (sockets.includes(local)) return;
    await sleep(10);
  }
}

/**
 * The ports of a start: finds free ones, and stops the start before any process begins if a configured one is
 * taken.
 */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Range searched for a free port: below the ports of outgoing connections (Linux from 32768, RFC 6335 §6 from
 * 49152), which any program may have taken by the time a process is restarted and listens again, and above
 * the usual media ports.
 */
const OWN_PORTS = { first: 30_000, last: 32_767 };
const MAX_PORT_TRIES = 200;
/** Processes killed a moment ago may still hold their ports for about a second. */
const BIND_ATTEMPTS = 10;
const RETRY_MS = 100;

/** A configured port and its address. */
export interface ConfiguredPort {
  /** The settings that specify it. */
  readonly setting: string;
  readonly host: string;
  readonly port: number;
  readonly isUdpToo: boolean;
}

/** Throws an error with one line for people, within about a second, if a port cannot be bound. */
export async function requireListenable(at: ConfiguredPort): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await listenBriefly(at);
      return;
    } catch (error) {
      if (attempt === BIND_ATTEMPTS || !isInUse(error)) throw explainListenError(error, at);
    }
    await sleep(RETRY_MS);
  }
}

/**
 * A port that is free for TCP and UDP on this address now. Throws if there is none, or the address is not one
 * of this machine.
 */
export async function freePort(host: string): Promise<number> {
  for (let tries = 0; tries < MAX_PORT_TRIES; tries++) {
    const port = randomInt(OWN_PORTS.first, OWN_PORTS.last + 1);
    try {
      await listenBriefly({ host, port, isUdpToo: true });
      return port;
    } catch (error) {
      if (!isInUse(error)) throw error;
    }
  }
  throw new Error(
    `no free port between ${OWN_PORTS.first} and ${OWN_PORTS.last} on ${host}: set PORT and SIP_PORT`,
  );
}

/** An address that could not be bound, as one line for people; other errors are returned unchanged. */
export function explainListenError(
  error: unknown,
  at: Pick<ConfiguredPort, 'setting' | 'host' | 'port'>,
): unknown {
  const why: Readonly<Record<string, string>> = {
    EADDRINUSE: 'is in use by another program; set another port, or 0 for a free one',
    EADDRNOTAVAIL: 'is not an address of this machine',
    EACCES: 'needs more rights than this program has',
    ENOTFOUND: 'is not a known address',
  };
  const reason = why[(error as NodeJS.ErrnoException)?.code ?? ''];
  return reason === undefined
    ? error
    : new Error(`${at.setting}: ${at.host} port ${at.port} ${reason}`, { cause: error });
}

function isInUse(error: unknown): boolean {
  return (error as NodeJS.ErrnoException)?.code === 'EADDRINUSE';
}

/** Binds a port and releases it; rejects if it cannot be bound. */
async function listenBriefly({
  host,
  port,
  isUdpToo,
}: Pick<ConfiguredPort, 'host' | 'port' | 'isUdpToo'>): Promise<void> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  try {
    if (isUdpToo) await bindBriefly(host, port);
  } finally {
    server.close();
    await once(server, 'close');
  }
}

async function bindBriefly(host: string, port: number): Promise<void> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  socket.bind(port, host);
  await once(socket, 'listening');
  socket.close();
  await once(socket, 'close');
}

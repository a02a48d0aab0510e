/**
 * The ports a start needs: free ones are found, and one that somebody else has stops the start before any
 * part of it begins.
 */
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Where a free port is looked for: below those that systems give to outgoing connections (Linux from 32768,
 * RFC 6335 §6 from 49152). One of those may be anybody's by the time the part that listens on it is started
 * again, and everyone who was told of the port depends on it. Above the usual media ports.
 */
const OWN_PORTS = { first: 30_000, last: 32_767 };
const OWN_PORT_TRIES = 200;
/** Parts of a start that was killed a moment ago are about to end and let go of their ports. */
const LOOKS = 10;
const LOOK_MS = 100;

/** A port that is set, and where. */
export interface ConfiguredPort {
  /** The settings that name it. */
  readonly setting: string;
  readonly host: string;
  readonly port: number;
  readonly isUdpToo: boolean;
}

/** Throws one line for a person, within a second or so, when a port cannot be listened on. */
export async function requireListenable(at: ConfiguredPort): Promise<void> {
  for (let look = 1; ; look++) {
    try {
      await listenBriefly(at);
      return;
    } catch (error) {
      if (look === LOOKS || !isInUse(error)) throw explainListenError(error, at);
    }
    await sleep(LOOK_MS);
  }
}

/**
 * A port that is free for TCP and UDP on this address right now. Throws when none is found, or the address is
 * not one of this machine.
 */
export async function freePort(host: string): Promise<number> {
  for (let tries = 0; tries < OWN_PORT_TRIES; tries++) {
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

/** An address that could not be bound, as one line for a person; any other error stays as it is. */
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

/** Takes a port and lets go of it; rejects as listening does. */
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

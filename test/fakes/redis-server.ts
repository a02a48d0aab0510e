/** A real redis-server for one test, on a socket in its own directory, without persistence. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A running server. */
export interface RedisServer {
  readonly url: string;
  /** The same server for programs that only accept a `redis://` address. */
  readonly tcpUrl: string;
  /** Stops answering, with open connections, until `thaw`. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
}

/** Starts the server; resolves once it accepts connections. */
export async function startRedisServer(): Promise<RedisServer> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-redis-'));
  const url = join(directory, 'redis.sock');
  const server = spawn(
    'redis-server',
    ['--port', '0', '--unixsocket', url, '--save', '', '--appendonly', 'no'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const sockets = new Set<Socket>();
  // TCP goes through a relay, because a free port could be taken before Redis binds it.
  const door = createServer((client) => {
    const inner = connect(url);
    for (const [socket, other] of [
      [client, inner],
      [inner, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => other.destroy());
      socket.pipe(other);
    }
  });
  await new Promise<void>((listening) => door.listen(0, '127.0.0.1', listening));
  const tcpUrl = `redis://127.0.0.1:${(door.address() as AddressInfo).port}`;
  const stop = async () => {
    door.close();
    for (const socket of sockets) socket.destroy();
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
    await rm(directory, { recursive: true, force: true });
  };
  const freeze = () => void server.kill('SIGSTOP');
  const thaw = () => void server.kill('SIGCONT');
  let printed = '';
  for await (const text of server.stdout) {
    printed += String(text);
    if (/ready to accept connections/i.test(printed)) return { url, tcpUrl, freeze, thaw, stop };
  }
  await stop();
  throw new Error(`redis-server did not start: ${printed}`);
}

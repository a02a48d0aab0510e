/** A real redis-server of a test's own, on a socket in a directory of its own, keeping nothing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A running server. */
export interface RedisServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts it; resolves once it takes connections. */
export async function startRedisServer(): Promise<RedisServer> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-redis-'));
  const url = join(directory, 'redis.sock');
  const server = spawn('redis-server', ['--port', '0', '--unixsocket', url, '--save', '', '--appendonly', 'no'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const stop = async () => {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
    await rm(directory, { recursive: true, force: true });
  };
  let printed = '';
  for await (const text of server.stdout) {
    printed += String(text);
    if (/ready to accept connections/i.test(printed)) return { url, stop };
  }
  await stop();
  throw new Error(`redis-server did not start: ${printed}`);
}

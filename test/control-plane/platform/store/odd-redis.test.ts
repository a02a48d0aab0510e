/** A Redis that answers nonsense, at startup and while Parley runs. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { connectSharedCoordination } from '#control-plane/platform/store/shared.ts';
import { listenTcp } from '../../../fakes/tcp-server.ts';
import { freeTcpPort } from '../../../free-port.ts';
import { itNeeds } from '../../../needs.ts';

const PATIENCE = { timeout: 30_000 };
const logger = createLogger({ level: 'silent', name: 'test' });
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function listen(serve: (socket: Socket) => void): Promise<number> {
  const { port, close } = await listenTcp(serve);
  closers.push(close);
  return port;
}

async function startRedis(): Promise<number> {
  const port = await freeTcpPort();
  const redis: ChildProcess = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  closers.push(async () => {
    redis.kill('SIGKILL');
    await once(redis, 'exit');
  });
  for await (const line of redis.stdout ?? [])
    if (String(line).includes('Ready to accept connections')) return port;
  throw new Error('redis-server did not start');
}

async function join(port: number) {
  const coordination = await connectSharedCoordination({
    url: `redis://127.0.0.1:${port}`,
    clock: systemClock,
    logger,
  });
  closers.push(() => coordination.close());
  return coordination;
}

/** Starts with each of these servers as Redis; returns the error and the log of each start. */
async function startWith(servers: readonly ((socket: Socket) => void)[]): Promise<string[]> {
  return Promise.all(
    servers.map(async (serve) => {
      const lines: string[] = [];
      const write = (line: string) => void lines.push(line);
      const log = createLogger({ level: 'error', name: 'test' }, { write });
      try {
        const url = `redis://:planted@127.0.0.1:${await listen(serve)}`;
        const coordination = await connectSharedCoordination({ url, clock: systemClock, logger: log });
        await coordination.close();
      } catch (error) {
        lines.push(String(error));
      }
      return lines.join('\n');
    }),
  );
}

it(
  'store 13: a server that refuses the password or is no Redis ends the start with one line that names REDIS_URL',
  PATIENCE,
  async () => {
    const said = await startWith([
      (socket) => void socket.on('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')),
      (socket) => void socket.on('data', () => socket.write(Buffer.alloc(65_536, 0xa5))),
      (socket) => void socket.on('data', () => socket.write('-WRONGPASS invalid password\r\n')),
    ]);
    expect(said).toEqual(
      said.map(() => expect.stringMatching(/^Error: REDIS_URL: the Redis cannot be used: [^\n]+$/)),
    );
    expect(said.join()).not.toContain('planted');
  },
);

it(
  'store 13: a Redis that gives no answer does not prevent the start; one log line names REDIS_URL',
  PATIENCE,
  async () => {
    const said = await startWith([
      (socket) => void socket.resume(),
      (socket) => void socket.on('data', () => socket.write('$999999999999\r\n')),
      (socket) => void socket.on('data', () => socket.destroy()),
      (socket) => void socket.on('data', () => socket.write('-BUSY Redis is busy running a script\r\n')),
      (socket) => void socket.on('data', () => socket.write('$21\r\nloading:1\r\nloading_x:\r\n')),
    ]);
    expect(said).toEqual(
      said.map(() => expect.stringMatching(/^[^\n]+REDIS_URL: Redis does not answer[^\n]+\n$/)),
    );
    expect(said.join()).not.toContain('planted');
  },
);

itNeeds(['redis-server'])(
  'store 13: a Redis that starts to answer invalid data is not used: the replica counts and claims alone until it recovers',
  PATIENCE,
  async () => {
    const redis = await startRedis();
    let isOdd = false;
    const port = await listen((client) => {
      const upstream = connect(redis, '127.0.0.1').on('error', () => undefined);
      client
        .on('data', (chunk) => (isOdd ? client.write('?nonsense\r\n') : upstream.write(chunk)))
        .on('close', () => upstream.destroy());
      upstream.on('data', (chunk) => client.write(chunk)).on('close', () => client.destroy());
    });
    const coordination = await join(port);
    expect(await coordination.claim('a', 1_000)).toBe(true);
    isOdd = true;
    expect([await coordination.claim('b', 60_000), await coordination.claim('b', 60_000)]).toEqual([
      true,
      false,
    ]);
    await coordination.publish('c', 1);
    expect(await coordination.countInWindow('d', 1, 60_000)).toMatchObject({ allowed: true });
    isOdd = false;
    // The shared count contains the hit of a second replica.
    const other = await join(redis);
    await expect
      .poll(
        async () => {
          const { count } = await coordination.countInWindow('e', 9, 3_600_000);
          return (await other.countInWindow('e', 9, 3_600_000)).count - count;
        },
        { timeout: 15_000 },
      )
      .toBe(1);
  },
);

itNeeds(['redis-server'])(
  'store 13: a message that is not JSON is ignored, and the next one is received',
  PATIENCE,
  async () => {
    const port = await startRedis();
    const coordination = await join(port);
    const heard: unknown[] = [];
    await coordination.subscribe('news', (message) => heard.push(message));
    const publisher = connect(port, '127.0.0.1');
    await once(publisher, 'connect');
    publisher.write('PUBLISH parley:news {oops\r\n');
    await once(publisher, 'data');
    publisher.destroy();
    await coordination.publish('news', { a: 1 });
    await expect.poll(() => heard).toEqual([{ a: 1 }]);
  },
);

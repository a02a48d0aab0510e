import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { type Coordination, createMemoryCoordination } from '#control-plane/platform/store/coordination.ts';
import { connectSharedCoordination } from '#control-plane/platform/store/shared.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { freeTcpPort } from '../../../free-port.ts';
import { has, itNeeds } from '../../../needs.ts';
import { describeCoordination } from './coordination-contract.ts';

const NEEDS = ['redis-server'];
const open: Coordination[] = [];
let redis: ChildProcess | undefined;
let port = 0;

function keep(coordination: Coordination): Coordination {
  open.push(coordination);
  return coordination;
}

async function connect(): Promise<Coordination> {
  const logger = createLogger({ level: 'silent', name: 'test' });
  return keep(
    await connectSharedCoordination({ url: `redis://127.0.0.1:${port}`, clock: systemClock, logger }),
  );
}

async function startRedis(): Promise<ChildProcess> {
  const started = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  for await (const line of started.stdout)
    if (String(line).includes('Ready to accept connections')) return started;
  throw new Error('redis-server did not start');
}

async function stopRedis(): Promise<void> {
  if (!redis) return;
  redis.kill('SIGKILL');
  await once(redis, 'exit');
  redis = undefined;
}

beforeAll(async () => {
  if (!has(NEEDS)) return;
  port = await freeTcpPort();
  redis = await startRedis();
});
afterEach(async () => {
  for (const coordination of open.splice(0)) await coordination.close();
});
afterAll(stopRedis);

describeCoordination('memory', it, async () => {
  const coordination = keep(createMemoryCoordination(systemClock));
  return [coordination, coordination];
});
describeCoordination('redis', itNeeds(NEEDS), async () => [await connect(), await connect()]);

it('the in-memory coordination forgets expired entries and leaves no timer when closed', async () => {
  const clock = new ManualClock();
  const coordination = createMemoryCoordination(clock);
  await coordination.countInWindow('a', 1, 1_000);
  expect((await coordination.countInWindow('a', 1, 1_000)).allowed).toBe(false);
  await clock.advance(60_000);
  expect((await coordination.countInWindow('a', 1, 1_000)).count).toBe(1);
  await coordination.close();
  expect(clock.pendingTimers).toBe(0);
});

itNeeds(NEEDS)('a Redis that cannot be reached is an error at the start', async () => {
  const logger = createLogger({ level: 'silent', name: 'test' });
  const unusedPort = await freeTcpPort();
  await expect(
    connectSharedCoordination({ url: `redis://127.0.0.1:${unusedPort}`, clock: systemClock, logger }),
  ).rejects.toThrow();
});

itNeeds(NEEDS)(
  'hits are allowed and claims fail during a Redis outage; afterwards both work again, subscriptions too',
  async () => {
    const coordination = await connect();
    const heard: unknown[] = [];
    await coordination.subscribe('news', (message) => heard.push(message));
    await stopRedis();
    expect(await coordination.countInWindow('gone', 0, 60_000)).toMatchObject({ allowed: true });
    await expect(coordination.claim('gone', 60_000)).rejects.toThrow();
    redis = await startRedis();
    await expect
      .poll(() => coordination.countInWindow('back', 0, 60_000), { timeout: 10_000 })
      .toMatchObject({ allowed: false });
    await expect
      .poll(() => coordination.publish('news', 'hello').then(() => heard.length), { timeout: 10_000 })
      .toBeGreaterThan(0);
    expect(await coordination.claim('gone', 60_000)).toBe(true);
  },
);

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
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

async function connect(logger = createLogger({ level: 'silent', name: 'test' })): Promise<Coordination> {
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

describe('a Redis that is away', () => {
  itNeeds(NEEDS)(
    'does not prevent the start: the replica coordinates alone until Redis answers',
    async () => {
      await stopRedis();
      const [a, b] = [await connect(), await connect()];
      expect(await a.countInWindow('early', 1, 3_600_000)).toMatchObject({ allowed: true, count: 1 });
      expect(await a.countInWindow('early', 1, 3_600_000)).toMatchObject({ allowed: false, count: 2 });
      expect([await a.claim('early', 60_000), await a.claim('early', 60_000)]).toEqual([true, false]);
      const heard: unknown[] = [];
      await b.subscribe('news', (message) => heard.push(message));
      await a.publish('news', 'lost');
      redis = await startRedis();
      await expect
        .poll(() => a.publish('news', 'hello').then(() => heard), { timeout: 10_000 })
        .toContain('hello');
      expect(heard).not.toContain('lost');
    },
  );

  itNeeds(NEEDS)(
    'leaves each replica its own windows and claims; then they are shared again, subscriptions too',
    async () => {
      const [a, b] = [await connect(), await connect()];
      const heard: unknown[] = [];
      await a.subscribe('news', (message) => heard.push(message));
      await stopRedis();
      const alone = await Promise.all([a, b].map((each) => each.countInWindow('gone', 1, 3_600_000)));
      expect(alone.map(({ allowed, count }) => [allowed, count])).toEqual([
        [true, 1],
        [true, 1],
      ]);
      expect(await Promise.all([a, b, a].map((each) => each.claim('gone', 60_000)))).toEqual([
        true,
        true,
        false,
      ]);
      redis = await startRedis();
      const count = async (each: Coordination) => (await each.countInWindow('back', 9, 3_600_000)).count;
      await expect.poll(async () => (await count(b)) - (await count(a)), { timeout: 10_000 }).toBe(-1);
      await expect
        .poll(() => b.publish('news', 'hello').then(() => heard), { timeout: 10_000 })
        .toContain('hello');
    },
  );

  itNeeds(NEEDS)(
    'is logged once, and once more when it answers again, however many commands fail',
    async () => {
      const lines: string[] = [];
      const write = (line: string) => void lines.push(JSON.parse(line).msg);
      const coordination = await connect(createLogger({ level: 'info', name: 'test' }, { write }));
      let gaps = 0;
      coordination.onGap(() => gaps++);
      await coordination.subscribe('news', () => undefined);
      await stopRedis();
      await Promise.all(Array.from({ length: 100 }, (_, n) => coordination.publish('news', n)));
      expect(lines).toEqual([expect.stringContaining('REDIS_URL: Redis does not answer')]);
      expect(gaps).toBe(0);
      redis = await startRedis();
      await expect.poll(() => gaps, { timeout: 10_000 }).toBe(1);
      await expect
        .poll(() => coordination.claim('again', 1).then(() => lines), { timeout: 10_000 })
        .toEqual([expect.stringContaining('REDIS_URL'), 'Redis answers again']);
    },
  );
});

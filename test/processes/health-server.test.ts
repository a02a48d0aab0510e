import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { Meters } from '#base/meters.ts';
import { readSettings } from '#config/env.ts';
import { describeHealth, type Health, type HealthPort, openHealthPort } from '#processes/health-server.ts';
import { ManualClock } from '../fakes/manual-clock.ts';

const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
const clock = new ManualClock();
let missing: string[] = [];
let calls = 3;
const meters = new Meters().addProcess();
meters.gauge({ name: 'parley_calls', help: 'Calls.', read: () => calls });
meters.total({ name: 'parley_calls_total', help: 'All calls.', read: () => calls + 10 });
const health: Health = { missing: () => missing, meters };
const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  missing = [];
});

async function serve(environment: Record<string, string>): Promise<HealthPort | null> {
  const port = await openHealthPort(readSettings(environment), clock, logger);
  if (port) opened.push(port);
  port?.serve(health);
  return port;
}

async function get(server: HealthPort | null, path: string) {
  const response = await fetch(`${server?.url}${path}`);
  return { status: response.status, text: await response.text() };
}

it('a process that takes calls is alive and ready', async () => {
  const server = await serve({ HEALTH_PORT: '0' });
  expect(await get(server, '/healthz')).toEqual({ status: 200, text: '{"status":"ok"}' });
  expect(await get(server, '/readyz?verbose')).toEqual({ status: 200, text: '{"status":"ready"}' });
});

it('a process that takes none is alive, and says why it is not ready', async () => {
  const server = await serve({ HEALTH_PORT: '0' });
  missing = ['draining'];
  expect((await get(server, '/healthz')).status).toBe(200);
  expect(await get(server, '/readyz')).toEqual({
    status: 503,
    text: '{"status":"not ready","missing":["draining"]}',
  });
});

it('metrics are read at each scrape, beside those of the process', async () => {
  const server = await serve({ HEALTH_PORT: '0' });
  expect((await get(server, '/metrics')).text).toContain('\nparley_calls 3\n');
  calls = 4;
  const { text } = await get(server, '/metrics');
  expect(text).toContain('\nparley_calls 4\n');
  expect(text).toContain('# TYPE parley_calls_total counter\nparley_calls_total 14\n');
  expect(text).toContain('process_resident_memory_bytes');
});

it('other paths are not found', async () => {
  expect((await get(await serve({ HEALTH_PORT: '0' }), '/')).status).toBe(404);
});

it('a process with a supervisor serves none', async () => {
  expect(await serve({ HEALTH_PORT: '0', SUPERVISOR_RUN: 'a' })).toBeNull();
});

it('a process is alive and not ready while it starts', async () => {
  const port = await openHealthPort(readSettings({ HEALTH_PORT: '0' }), clock, logger);
  opened.push(port!);
  expect((await get(port, '/healthz')).status).toBe(200);
  expect((await get(port, '/readyz')).text).toContain('"missing":["starting"]');
});

it('a process whose port is taken runs without, and gets it when it is free', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const taken = (other.address() as AddressInfo).port;
  const server = await serve({ HEALTH_PORT: String(taken) });
  expect([server?.url, describeHealth(server)]).toEqual([null, []]);
  await new Promise((resolve) => other.close(resolve));
  await clock.advance(2_000);
  await expect.poll(() => server?.url).toBe(`http://127.0.0.1:${taken}`);
  expect((await get(server, '/readyz')).status).toBe(200);
  expect(clock.pendingTimers).toBe(0);
});

it('an address of another machine stops the start with one line', async () => {
  await expect(serve({ HEALTH_HOST: '192.0.2.1', HEALTH_PORT: '0' })).rejects.toThrow(
    /HEALTH_HOST, HEALTH_PORT/,
  );
});

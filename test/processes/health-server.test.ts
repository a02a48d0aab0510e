import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { type Health, type HealthServer, serveHealth } from '#processes/health-server.ts';

const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
let missing: string[] = [];
let calls = 3;
const health: Health = {
  missing: () => missing,
  meters: [
    { name: 'parley_calls', help: 'Calls.', read: () => calls },
    { name: 'parley_calls_total', help: 'All calls.', read: () => calls + 10 },
  ],
};
const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  missing = [];
});

async function serve(environment: Record<string, string>): Promise<HealthServer | null> {
  const server = await serveHealth(readSettings(environment), health, logger);
  if (server) opened.push(server);
  return server;
}

async function get(server: HealthServer | null, path: string) {
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

it('a chosen port that is taken stops the start with one line, and the usual one does not', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  opened.push({ close: () => other.close() });
  const { port } = other.address() as AddressInfo;
  await expect(serve({ HEALTH_PORT: String(port) })).rejects.toThrow(/HEALTH_HOST, HEALTH_PORT/);
  const usual = createServer();
  await new Promise<void>((resolve) => {
    // Perhaps another program has it already, which is as good.
    usual.once('error', () => resolve());
    usual.listen(9_090, '127.0.0.1', resolve);
  });
  opened.push({ close: () => usual.close() });
  expect(await serve({})).toBeNull();
});

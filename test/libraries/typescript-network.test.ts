import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ApiConnectionError, ApiError, ApiTimeoutError, Parley } from '#libraries/typescript/src/index.ts';

const ONCE = { maxRetries: 0 };

let server: Server;
let paths: string[];
let parley: Parley;

beforeEach(async () => {
  paths = [];
  server = createServer((request, response) => {
    paths.push(request.url ?? '');
    if (request.url?.endsWith('/moved')) response.writeHead(302, { location: '/elsewhere' }).end();
    else response.writeHead(200, { 'content-length': 9 }).write('{');
    if (request.url?.endsWith('/cut')) setImmediate(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  parley = new Parley({ apiKey: 'pk_1', baseUrl: `http://127.0.0.1:${port}` });
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

it('the TypeScript library follows no redirect, which would take the key along', async () => {
  const error: unknown = await parley.agents.get('moved', ONCE).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 302 });
  expect(paths).toEqual(['/v1/agent/agents/moved']);
});

it('an answer that stops is a timeout in the TypeScript library', async () => {
  await expect(parley.agents.get('stops', { ...ONCE, timeoutMs: 100 })).rejects.toThrow(ApiTimeoutError);
});

it('an answer that is cut off is none in the TypeScript library', async () => {
  await expect(parley.agents.get('cut', ONCE)).rejects.toThrow(ApiConnectionError);
});

/**
 * The official conformance suite against /mcp. Its scenarios that call tools need those of the suite's own
 * example server, so they do not apply.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../../test-api.ts';

const SUITE = join(import.meta.dirname, '../../../../node_modules/.bin/conformance');

let api: TestApi;
let proxy: Server;

beforeAll(async () => {
  api = await openTestApi();
  const origin = await api.app.listen({ port: 0, host: '127.0.0.1' });
  // The suite sends no key.
  proxy = createServer((asked, answered) => {
    const headers = { ...asked.headers, authorization: `Bearer ${api.rootKey}` };
    const sent = request(`${origin}${asked.url}`, { method: asked.method, headers }, (answer) => {
      answered.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(answered);
    });
    asked.pipe(sent);
  }).listen(0);
  await once(proxy, 'listening');
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await api.close();
});

it.each([
  'server-initialize',
  'ping',
  'tools-list',
  'resources-list',
  'prompts-list',
  'dns-rebinding-protection',
])('passes %s', async (scenario) => {
  const url = `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`;
  const parameters = [SUITE, 'server', '--url', url, '--scenario', scenario];
  const { stdout } = await promisify(execFile)(process.execPath, parameters);
  expect(stdout).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/);
});

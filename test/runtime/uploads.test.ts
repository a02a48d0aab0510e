import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '#config/log.ts';
import { createUploads } from '#runtime/uploads.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const MEBIBYTE = new Uint8Array(1024 * 1024);

describe('uploads', () => {
  let server: Server;
  let url: string;
  let received: { path: string; bytes: number; authorization: string }[];
  let answer: (path: string) => number | Promise<number>;

  beforeEach(async () => {
    received = [];
    answer = () => 204;
    server = createServer(async (request, response) => {
      let bytes = 0;
      for await (const chunk of request) bytes += (chunk as Buffer).length;
      const path = request.url ?? '';
      received.push({ path, bytes, authorization: request.headers.authorization ?? '' });
      response.writeHead(await answer(path)).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('sends the bytes under the worker’s token, and is flushed once they are taken', async () => {
    const uploads = createUploads({ url, token: 'secret-of-workers', logger });
    uploads.put({ path: '/a', bytes: new Uint8Array([1, 2, 3]) });
    await uploads.flushed();
    expect(received).toEqual([{ path: '/a', bytes: 3, authorization: 'Bearer secret-of-workers' }]);
    await uploads.flushed();
  });

  it('tries again while the control plane cannot take it', async () => {
    answer = () => (received.length < 3 ? 503 : 204);
    const uploads = createUploads({ url, token: 't', logger });
    uploads.put({ path: '/a', bytes: new Uint8Array(10) });
    await uploads.flushed();
    expect(received.map(({ path, bytes }) => ({ path, bytes }))).toEqual(Array(3).fill({ path: '/a', bytes: 10 }));
  });

  it('what is refused is not sent again', async () => {
    answer = () => 404;
    const uploads = createUploads({ url, token: 't', logger });
    uploads.put({ path: '/gone', bytes: new Uint8Array(10) });
    await uploads.flushed();
    expect(received).toHaveLength(1);
  });

  it('four at a time, and the oldest waiting ones give way when too much waits', async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    answer = () => promise;
    const uploads = createUploads({ url, token: 't', logger });
    for (let index = 0; index < 70; index++) uploads.put({ path: `/${index}`, bytes: MEBIBYTE });
    await vi.waitFor(() => expect(received).toHaveLength(4));
    resolve(204);
    await uploads.flushed();
    const sent = received.map(({ path }) => Number(path.slice(1))).sort((a, b) => a - b);
    expect(sent).toEqual([0, 1, 2, 3, ...Array.from({ length: 60 }, (_, index) => index + 10)]);
  });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerSiteRoutes } from '#control-plane/operations/site/site-routes.ts';
import { type ApiServer, createServer } from '#control-plane/platform/http/server.ts';
import { openTestApi, type TestApi } from './test-api.ts';

const SCRIPT = `customElements.define('voice-agent', class extends HTMLElement {});\n`.repeat(40);
const PAGE = `<!doctype html><title>Console</title>${'<p>Calls</p>'.repeat(40)}`;

let api: TestApi;
let app: ApiServer;
let dist: string;

/** Writes a file as the build does, with its compressed forms beside it. */
function build(path: string, content: string): void {
  writeFileSync(join(dist, path), content);
  writeFileSync(join(dist, `${path}.br`), brotliCompressSync(content));
  writeFileSync(join(dist, `${path}.gz`), gzipSync(content));
}

const ask = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  app.inject({ method, url, headers });

beforeAll(async () => {
  dist = mkdtempSync(join(tmpdir(), 'parley-built-'));
  mkdirSync(join(dist, 'console', 'assets'), { recursive: true });
  build('widget.js', SCRIPT);
  build('sdk.js', SCRIPT);
  build('sdk-wire.js', SCRIPT);
  build('console/index.html', PAGE);
  build('console/assets/app-1.js', SCRIPT);
  writeFileSync(join(dist, 'console', 'icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
  api = await openTestApi();
  app = await createServer(api.context);
  await registerSiteRoutes(app, api.context, dist);
});
afterAll(async () => {
  await app.close();
  await api.close();
  rmSync(dist, { recursive: true, force: true });
});

describe('built files', () => {
  it.each([
    '/widget.js',
    '/sdk.js',
    '/sdk-wire.js',
    '/assets/app-1.js',
    '/',
    '/console',
    '/console/calls/0123',
  ])('%s is sent in the best encoding the client accepts', async (url) => {
    const content = url.endsWith('.js') ? SCRIPT : PAGE;
    const type = url.endsWith('.js') ? 'application/javascript; charset=utf-8' : 'text/html; charset=utf-8';
    for (const [accepts, encoding, read] of [
      ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
      ['gzip, deflate', 'gzip', gunzipSync],
      ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync],
      ['identity', undefined, (body: Buffer) => body],
      ['', undefined, (body: Buffer) => body],
    ] as const) {
      const answer = await ask(url, accepts === '' ? {} : { 'accept-encoding': accepts });
      expect(
        [answer.statusCode, answer.headers['content-encoding'], answer.headers['content-type']],
        accepts,
      ).toEqual([200, encoding, type]);
      expect(read(answer.rawPayload).toString(), accepts).toBe(content);
      expect(answer.headers['vary'], accepts).toBe('accept-encoding');
    }
  });

  it('each encoding has its own ETag, and is not sent again to a client that has it', async () => {
    const accepts = { 'accept-encoding': 'br' };
    const [plain, packed] = [await ask('/widget.js'), await ask('/widget.js', accepts)];
    expect(packed.headers.etag).not.toBe(plain.headers.etag);
    const again = await ask('/widget.js', { ...accepts, 'if-none-match': String(packed.headers.etag) });
    expect([again.statusCode, again.body, again.headers.etag, again.headers['vary']]).toEqual([
      304,
      '',
      packed.headers.etag,
      'accept-encoding',
    ]);
    const otherForm = await ask('/widget.js', { ...accepts, 'if-none-match': String(plain.headers.etag) });
    expect(otherForm.statusCode).toBe(200);
  });

  it('hashed names are cached for ever, the widget for minutes, and other names are revalidated', async () => {
    const cached = async (url: string) => (await ask(url)).headers['cache-control'];
    expect(await cached('/assets/app-1.js')).toBe('public, max-age=31536000, immutable');
    expect(await cached('/widget.js')).toBe('public, max-age=300');
    for (const url of ['/sdk.js', '/sdk-wire.js', '/', '/console/calls', '/icon.svg'])
      expect(await cached(url), url).toBe('public, max-age=0');
  });

  it('HEAD answers the headers of GET without the body', async () => {
    for (const url of ['/widget.js', '/assets/app-1.js', '/'])
      for (const headers of [{}, { 'accept-encoding': 'br' }]) {
        const [got, head] = [await ask(url, headers), await ask(url, headers, 'HEAD')];
        expect(head.body).toBe('');
        for (const name of [
          'content-length',
          'content-encoding',
          'content-type',
          'etag',
          'cache-control',
          'vary',
        ])
          expect(head.headers[name], `${url} ${name}`).toBe(got.headers[name]);
        expect(Number(head.headers['content-length'])).toBe(got.rawPayload.length);
      }
  });

  it('a range request gets the whole file', async () => {
    const answer = await ask('/widget.js', { 'accept-encoding': 'gzip', range: 'bytes=4-9' });
    expect([answer.statusCode, answer.headers['content-range'], answer.headers['accept-ranges']]).toEqual([
      200,
      undefined,
      undefined,
    ]);
    expect(gunzipSync(answer.rawPayload).toString()).toBe(SCRIPT);
  });

  it('a file built in one encoding is sent in that one only', async () => {
    const icon = await ask('/icon.svg', { 'accept-encoding': 'br, gzip' });
    expect([icon.statusCode, icon.headers['content-encoding'], icon.headers['content-type']]).toEqual([
      200,
      undefined,
      'image/svg+xml',
    ]);
    expect(icon.body).toContain('<svg');
  });
});

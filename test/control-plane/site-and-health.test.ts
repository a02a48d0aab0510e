import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerSiteRoutes } from '#control-plane/operations/site/site-routes.ts';
import { createServer } from '#control-plane/platform/http/server.ts';
import { PublicAddress } from '#control-plane/platform/public-address.ts';
import { FakeDispatch } from '../fakes/fake-dispatch.ts';
import { openTestApi, type TestApi } from './test-api.ts';

let api: TestApi;
let dist: string;
const dispatch = new FakeDispatch();
let hasWorker = false;

beforeAll(async () => {
  dist = mkdtempSync(join(tmpdir(), 'parley-dist-'));
  dispatch.hasWorker = () => hasWorker;
  api = await openTestApi({}, { dispatch });
});
afterAll(async () => {
  await api.close();
  rmSync(dist, { recursive: true, force: true });
});

async function site() {
  const app = await createServer(api.context);
  await registerSiteRoutes(app, api.context, dist);
  return app;
}

describe('health', () => {
  const statusOf = async (path: string) => (await api.request('GET', path)).status;

  it('/healthz is ready at once, /readyz needs a worker', async () => {
    expect(await statusOf('/healthz')).toBe(200);
    expect(await statusOf('/readyz')).toBe(503);
    hasWorker = true;
    expect((await api.request('GET', '/readyz')).body).toEqual({
      status: 'ready',
      database: true,
      worker: true,
      stopping: false,
    });
  });

  it('/readyz/requests needs no worker, so that the first worker of a cluster can register through it', async () => {
    hasWorker = false;
    expect((await api.request('GET', '/readyz/requests')).body).toEqual({
      status: 'ready',
      database: true,
      worker: false,
      stopping: false,
    });
  });

  it('both say no while the control plane stops, and it is still alive', async () => {
    hasWorker = true;
    dispatch.isStopping = true;
    expect(await Promise.all(['/readyz', '/readyz/requests', '/healthz'].map(statusOf))).toEqual([
      503, 503, 200,
    ]);
    dispatch.isStopping = false;
    expect(await statusOf('/readyz')).toBe(200);
  });

  it('/metrics labels requests by route pattern, never by address', async () => {
    await api.request('GET', '/v1/agent/agents/some-private-id', { key: api.rootKey });
    const { status, text } = await api.request('GET', '/metrics');
    expect(status).toBe(200);
    expect(text.split('\n')).toContain(
      'parley_http_request_seconds_count{method="GET",route="/v1/agent/agents/:agent_id",status="4xx"} 1',
    );
    expect(text.includes('some-private-id')).toBe(false);
  });
});

describe('the site', () => {
  it('explains what to do while it is not built', async () => {
    const app = await site();
    const page = await app.inject('/');
    expect(page.statusCode).toBe(200);
    expect(page.body).toContain('npm run prepare');
    expect((await app.inject('/widget.js')).statusCode).toBe(404);
    await app.close();
  });

  it('serves the console under a strict policy, and the scripts to any page', async () => {
    mkdirSync(join(dist, 'console', 'assets'), { recursive: true });
    writeFileSync(join(dist, 'console', 'index.html'), '<!doctype html><title>Console</title>');
    writeFileSync(join(dist, 'console', 'assets', 'app-1.js'), 'export {};');
    writeFileSync(join(dist, 'widget.js'), 'customElements;');
    writeFileSync(join(dist, 'sdk.js'), 'export class AgentSession {}');
    const app = await site();
    const page = await app.inject('/');
    expect(page.body).toContain('Console');
    expect(page.headers['content-security-policy']).toContain("default-src 'self'");
    const deepLink = await app.inject('/console/calls/0123');
    expect(deepLink.body).toContain('Console');
    expect(deepLink.headers['content-security-policy']).toBe(page.headers['content-security-policy']);
    expect((await app.inject('/assets/app-1.js')).headers['cache-control']).toContain('immutable');
    for (const path of ['/widget.js', '/sdk.js']) {
      const script = await app.inject({ url: path, headers: { origin: 'https://shop.example.com' } });
      expect(script.statusCode).toBe(200);
      expect(script.headers['access-control-allow-origin']).toBe('*');
      expect(script.headers['content-type']).toContain('javascript');
    }
    expect((await app.inject('/../package.json')).statusCode).toBe(404);
    expect((await app.inject('/nothing-here')).json()).toEqual({
      status: 404,
      message: 'Not found',
      reason: null,
    });
    await app.close();
  });

  it('security 25: the console connects to Parley and its rooms only, and runs only its own scripts', async () => {
    mkdirSync(join(dist, 'console'), { recursive: true });
    writeFileSync(join(dist, 'console', 'index.html'), '<!doctype html><title>Console</title>');
    const settings = {
      ...api.context.settings,
      LIVEKIT_URL: 'ws://127.0.0.1:7880',
      LIVEKIT_PUBLIC_URL: 'wss://rooms.example.com',
      PUBLIC_URL: 'https://parley.example.com',
    };
    const app = await createServer(api.context);
    await registerSiteRoutes(app, { settings, publicAddress: new PublicAddress(settings) }, dist);
    const policy = new Map(
      String((await app.inject('/')).headers['content-security-policy'])
        .split('; ')
        .map((directive) => [directive.split(' ')[0], directive.split(' ').slice(1)]),
    );
    await app.close();
    expect(policy.get('connect-src')).toEqual([
      "'self'",
      ...[
        'https://parley.example.com',
        'wss://parley.example.com',
        'https://rooms.example.com',
        'wss://rooms.example.com',
      ],
    ]);
    expect(policy.get('script-src')).toEqual(["'self'"]);
    for (const name of ['object-src', 'worker-src', 'frame-src', 'base-uri'])
      expect([name, policy.get(name)]).toEqual([name, ["'none'"]]);
  });
});

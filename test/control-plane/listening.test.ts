import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '#control-plane/control-plane.ts';
import { createMetrics } from '#control-plane/platform/metrics.ts';
import { openTestApi, type TestApi } from './test-api.ts';

let api: TestApi;
let controlPlane: ControlPlane;

beforeAll(async () => {
  api = await openTestApi({ PORT: '0' });
  // The server of the API counts with the metrics of its context.
  controlPlane = await startControlPlane({ ...api.context, metrics: createMetrics() });
});
afterAll(async () => {
  await controlPlane.close();
  await api.close();
});

describe('a listening control plane', () => {
  it('binds a free port for port 0, and updates the demo agent’s address', async () => {
    expect(controlPlane.port).toBeGreaterThan(0);
    const answer = await fetch(
      `http://127.0.0.1:${controlPlane.port}/v1/agent/agents/${controlPlane.seeded.demoAgentId}`,
      {
        headers: { authorization: `Bearer ${api.rootKey}` },
      },
    );
    expect(await answer.json()).toMatchObject({
      allowed_origins: [`http://127.0.0.1:${controlPlane.port}`, `http://localhost:${controlPlane.port}`],
    });
    const description = await fetch(`http://127.0.0.1:${controlPlane.port}/openapi.json`);
    expect(await description.json()).toMatchObject({
      servers: [{ url: `http://127.0.0.1:${controlPlane.port}` }],
    });
  });

  it.each([
    'GARBAGE\r\n\r\n',
    'GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n',
    `GET / HTTP/1.1\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`,
  ])('answers bytes that are not HTTP and keeps running', async (bytes) => {
    const answer = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(controlPlane.port, '127.0.0.1', () => socket.write(bytes));
      socket.on('data', (data) => {
        text += String(data);
      });
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d/);
    expect((await fetch(`http://127.0.0.1:${controlPlane.port}/healthz`)).status).toBe(200);
  });

  it('answers a bare 415 to a POST without body or content type on the wire', async () => {
    const answer = await fetch(`http://127.0.0.1:${controlPlane.port}/v1/agent/agents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.rootKey}` },
    });
    expect([answer.status, await answer.text()]).toEqual([415, '']);
    const published = await fetch(
      `http://127.0.0.1:${controlPlane.port}/v1/agent/agents/${controlPlane.seeded.demoAgentId}/publish`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${api.rootKey}` },
      },
    );
    expect(published.status).toBe(200);
  });

  it('can be closed twice', async () => {
    await controlPlane.close();
    await controlPlane.close();
    await expect(fetch(`http://127.0.0.1:${controlPlane.port}/healthz`)).rejects.toThrow();
  });
});

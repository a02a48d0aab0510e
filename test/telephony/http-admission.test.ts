import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AdmissionRequest, admissionRequest } from '#protocol/sip-admission.ts';
import { createHttpAdmission } from '#telephony/http-admission.ts';

const question: AdmissionRequest = {
  call_id: 'call-1',
  from_user: '+15550111',
  to_user: '+15550100',
  source_address: '127.0.0.1',
  source_port: 5060,
  transport: 'udp',
  headers: { 'x-trunk': 'a' },
};

describe('admission over HTTP', () => {
  let server: Server;
  let url: string;
  let reply: { status: number; body: string };
  let asked: { path: string | undefined; authorization: string | undefined; body: unknown }[];

  beforeEach(async () => {
    asked = [];
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      asked.push({ path: request.url, authorization: request.headers.authorization, body: JSON.parse(body) });
      response.writeHead(reply.status, { 'content-type': 'application/json' }).end(reply.body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('asks with the worker token and returns the answer', async () => {
    reply = { status: 200, body: '{"action":"route","data":{"tag":"worker-1"}}' };
    expect(await createHttpAdmission(url, 'token-of-workers')(question)).toEqual({
      action: 'route',
      data: { tag: 'worker-1' },
    });
    expect(asked).toEqual([
      {
        path: '/internal/sip/admit',
        authorization: 'Bearer token-of-workers',
        body: admissionRequest.parse(question),
      },
    ]);
  });

  it.each([
    ['an error', 500, '{"action":"route","data":{"tag":"worker-1"}}'],
    ['an answer in an unexpected format', 200, '{"action":"route"}'],
    ['an answer that is not JSON', 200, 'hello'],
  ])('%s is not an admission', async (_, status, body) => {
    reply = { status, body };
    await expect(createHttpAdmission(url, 'token-of-workers')(question)).rejects.toThrow();
  });

  it.each([
    ['too long', 'x'.repeat(1 << 20)],
    ['nested sixty thousand deep', '['.repeat(60_000)],
    ['of another shape', '{"action":"route","data":{"tag":""}}'],
    ['a rejection with a success status', '{"action":"reject","data":{"status":200,"reason":"OK"}}'],
    ['empty', ''],
  ])('an answer that is %s is not an admission', async (_, body) => {
    reply = { status: 200, body };
    await expect(createHttpAdmission(url, 'token')(question)).rejects.toThrow();
  });

  it('a control plane that ends in the middle of its answer gives no admission', async () => {
    server.removeAllListeners('request');
    server.on('request', (_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{"action"');
      setImmediate(() => response.destroy());
    });
    await expect(createHttpAdmission(url, 'token-of-workers')(question)).rejects.toThrow();
  });

  it('an unreachable control plane gives no admission', async () => {
    server.close();
    await expect(createHttpAdmission(url, 'token-of-workers')(question)).rejects.toThrow();
  });
});

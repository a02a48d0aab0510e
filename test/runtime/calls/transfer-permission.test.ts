import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { askForTransfer } from '#runtime/calls/transfer-permission.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

describe('the check whether a caller may be transferred', () => {
  let server: Server;
  let clock: ManualClock;
  let received: unknown[];
  let arrived: () => void;
  /** Null: no answer. */
  let answer: { readonly status: number; readonly body: string } | null;

  beforeEach(async () => {
    received = [];
    arrived = () => undefined;
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      received.push([request.method, request.url, request.headers.authorization, JSON.parse(body)]);
      arrived();
      if (answer) response.writeHead(answer.status).end(answer.body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    clock = new ManualClock();
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });
  const ask = () =>
    askForTransfer(
      {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        token: 'secret-of-workers',
        clock,
        logger: createLogger({ level: 'silent', name: 'test' }),
      },
      's1',
    );

  it.each([true, false])(
    'sends the session with the workers’ token, and respects the answer: %s',
    async (is_allowed) => {
      answer = { status: 200, body: JSON.stringify({ is_allowed }) };
      expect(await ask()).toBe(is_allowed);
      expect(received).toEqual([
        ['POST', '/internal/transfers', 'Bearer secret-of-workers', { session_id: 's1' }],
      ]);
    },
  );

  it('permits the transfer when the control plane cannot decide', async () => {
    answer = { status: 503, body: '{}' };
    expect(await ask()).toBe(true);
  });

  it('permits the transfer after 2 seconds without an answer', async () => {
    answer = null;
    const isAsked = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    let allowed: boolean | null = null;
    const asking = ask().then((is) => {
      allowed = is;
    });
    await isAsked;
    await clock.advance(1_999);
    expect(allowed).toBe(null);
    await clock.advance(1);
    await asking;
    expect(allowed).toBe(true);
  });
});

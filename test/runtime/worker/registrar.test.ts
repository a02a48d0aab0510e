/** Phones that register: what a worker passes on to the control plane, and what it does not. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { registrarOf } from '#runtime/worker/registrar.ts';
import type { AnswerRegister } from '#telephony/signalling.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

let controlPlane: Server;
let asked: unknown[];
let clock: ManualClock;
let registrar: AnswerRegister;
/** Resolves the answers of the control plane. */
let open: () => void;

beforeEach(async () => {
  asked = [];
  const opened = Promise.withResolvers<void>();
  open = opened.resolve;
  controlPlane = createServer((request, response) => {
    let text = '';
    request.on('data', (bytes) => (text += String(bytes)));
    request.on('end', () => {
      asked.push(JSON.parse(text));
      void opened.promise.then(() =>
        response.end(JSON.stringify({ status: 200, reason: 'OK', headers: [] })),
      );
    });
  }).listen(0, '127.0.0.1');
  await once(controlPlane, 'listening');
  clock = new ManualClock();
  const url = `http://127.0.0.1:${(controlPlane.address() as AddressInfo).port}`;
  const logger = createLogger({ level: 'silent', name: 'test' });
  registrar = registrarOf({ url, token: 't', clock, logger, random: () => 0 });
});
afterEach(() => {
  open();
  controlPlane.closeAllConnections();
  controlPlane.close();
});

const from = (sourceAddress: string, lines: Readonly<Record<string, string>> = {}) =>
  registrar({
    uri: 'sip:parley.example',
    headers: Object.entries({ t: '<sip:a@b>', 'X-Odd': 'x', ...lines }).map(([name, value]) => ({
      name,
      value,
    })),
    sourceAddress,
    sourcePort: 5_060,
    transport: 'udp',
    server: 'one:9022',
  });

it('passes on the headers that count, by their full names', async () => {
  open();
  expect(await from('192.0.2.1')).toMatchObject({ status: 200 });
  expect(asked).toMatchObject([{ headers: [{ name: 'to', value: '<sip:a@b>' }], server: 'one:9022' }]);
});

it('refuses a REGISTER that is too long for a question', async () => {
  expect(await from('192.0.2.1', { contact: 'x'.repeat(3_000) })).toMatchObject({ status: 413 });
});

it('security 4: asks for 400 of one network at once, and ten a second more, and for others as before', async () => {
  open();
  const statuses: number[] = [];
  for (let nth = 0; nth < 401; nth++) statuses.push((await from('192.0.2.1')).status);
  expect([statuses.filter((status) => status === 200).length, statuses.at(-1)]).toEqual([400, 503]);
  expect((await from('192.0.2.2')).status).toBe(200);
  await clock.advance(1_000);
  expect((await from('192.0.2.1')).status).toBe(200);
});

it('security 4: has 64 questions open at once; the next phone is told to come back', async () => {
  const waiting = Array.from({ length: 64 }, (_, nth) => from(`198.18.0.${nth}`));
  expect(await from('192.0.2.2')).toEqual({
    status: 503,
    reason: 'Service Unavailable',
    headers: [{ name: 'Retry-After', value: '5' }],
  });
  open();
  expect((await Promise.all(waiting)).every(({ status }) => status === 200)).toBe(true);
});

it('tells phones to come back when no answer comes in time', async () => {
  const answer = from('192.0.2.1');
  await expect.poll(() => asked).toHaveLength(1);
  await clock.advance(5_000);
  expect(await answer).toMatchObject({ status: 503 });
});

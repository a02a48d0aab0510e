/** `parley pbx`, against a server that answers like the API. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { runParley } from '../command-line.ts';

const REGISTRATION = {
  sip_registration_id: 'r1',
  registrar: 'pbx.example.com',
  username: '204',
  state: 'refused',
  registered_until: null,
  last_error: { message: 'The registrar does not accept the username and password (401)' },
};
const NUMBER = { phone_number_id: 'n1', phone_number: '+4930123456' };

/** Runs the command; returns its output and the bodies that it sent. */
async function run(args: readonly string[], environment: Record<string, string> = {}) {
  const bodies: unknown[] = [];
  const product = createServer((request, response) => {
    void text(request).then((body) => {
      if (body !== '') bodies.push(JSON.parse(body));
      const page = { sip_registrations: [REGISTRATION], phone_numbers: [NUMBER], has_more: false };
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(request.method === 'POST' ? REGISTRATION : { ...page, next_cursor: null }));
    });
  }).listen(0, '127.0.0.1');
  await once(product, 'listening');
  const url = `http://127.0.0.1:${(product.address() as AddressInfo).port}`;
  const result = await runParley(args, {
    folder: tmpdir(),
    environment: { PARLEY_URL: url, PARLEY_API_KEY: 'pk_somebody', ...environment },
  });
  product.close();
  return { ...result, bodies };
}

it('lists the registrations with their state and last error', async () => {
  const { out } = await run(['pbx', 'list']);
  expect(out).toMatch(/r1\s+204@pbx\.example\.com\s+refused\s+–\s+The registrar does not accept/);
});

it('connects an account with the password of the environment and the number that was named', async () => {
  const args = [
    'pbx',
    'connect',
    '204@pbx.example.com:5070',
    '--number',
    '+4930123456',
    '--transport',
    'tcp',
  ];
  const { bodies } = await run(args, { PBX_PASSWORD: 'secret' });
  const account = { registrar: 'pbx.example.com:5070', username: '204', password: 'secret' };
  expect(bodies).toEqual([{ ...account, transport: 'tcp', phone_number_id: 'n1' }]);
});

it('says what is missing without a password', async () => {
  const { err, code } = await run(['pbx', 'connect', '204@pbx.example.com']);
  expect([code, err]).toEqual([2, expect.stringContaining('set PBX_PASSWORD or use --password')]);
});

/** `parley phones`, against a server that answers like the API. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { runParley } from '../command-line.ts';

const PLACE = { source_address: '192.0.2.7', transport: 'udp', user_agent: 'Desk 1' };
const PHONE = {
  sip_phone_id: 'p1',
  extension: '204',
  display_name: 'Ada',
  username: 'ph-abcdefghjk',
  registrations: [{ ...PLACE, registered_until: '2026-01-01T00:00:00.000Z' }],
  last_refused: { at: '2026-01-01T00:00:00.000Z', source_address: '198.51.100.9' },
};

/** Runs the command; returns its output and the requests that it sent. */
async function run(args: readonly string[]) {
  const requests: unknown[] = [];
  const product = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push([request.method, request.url, ...(body === '' ? [] : [JSON.parse(body)])]);
      const isOne = request.url?.includes('extension=205');
      const page = { sip_phones: isOne ? [] : [PHONE], has_more: false, next_cursor: null };
      const made = { ...PHONE, password: 'a-password' };
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(request.method === 'POST' ? made : page));
    });
  }).listen(0, '127.0.0.1');
  await once(product, 'listening');
  const url = `http://127.0.0.1:${(product.address() as AddressInfo).port}`;
  const environment = { PARLEY_URL: url, PARLEY_API_KEY: 'pk_somebody' };
  const result = await runParley(args, { folder: tmpdir(), environment });
  product.close();
  return { ...result, requests };
}

it('lists the phones with where they are and their last wrong password', async () => {
  const { out } = await run(['phones', 'list']);
  expect(out).toMatch(/204\s+Ada\s+ph-abcdefghjk\s+192\.0\.2\.7\/udp Desk 1\s+2026\S+\s+2026\S+ from 198/);
});

it('makes a phone and prints its password once', async () => {
  const { out, requests } = await run(['phones', 'add', '204', '--name', 'Ada', '--only-rings']);
  expect(out).toMatch(/204\s+ph-abcdefghjk\s+a-password/);
  const body = { extension: '204', display_name: 'Ada', may_call_agents: false };
  expect(requests).toEqual([['POST', '/v1/agent/sip-phones', body]]);
});

it('makes a new password and removes a phone by its extension', async () => {
  expect((await run(['phones', 'password', '204'])).requests.at(-1)).toEqual([
    'POST',
    '/v1/agent/sip-phones/p1/password',
  ]);
  expect((await run(['phones', 'remove', '204'])).requests.at(-1)).toEqual([
    'DELETE',
    '/v1/agent/sip-phones/p1',
  ]);
});

it('says that there is no such phone', async () => {
  const { err, code } = await run(['phones', 'remove', '205']);
  expect([code, err]).toEqual([2, expect.stringContaining('no phone 205')]);
});

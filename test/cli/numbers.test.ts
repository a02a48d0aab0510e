/** `parley numbers`, against a server that answers like the API. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { runParley } from '../command-line.ts';

const NUMBER = '+14155550123';
const RECORD = {
  phone_number: NUMBER,
  media_stream: { voice_url: 'https://phone.example.com/carriers/voice/n1' },
};

/** Runs the command; returns its output and the requests that it sent. */
async function run(args: readonly string[], environment: Record<string, string> = {}) {
  const requests: unknown[] = [];
  const product = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push([request.url, JSON.parse(body)]);
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(RECORD));
    });
  }).listen(0, '127.0.0.1');
  await once(product, 'listening');
  const url = `http://127.0.0.1:${(product.address() as AddressInfo).port}`;
  const result = await runParley(args, {
    folder: tmpdir(),
    environment: { PARLEY_URL: url, PARLEY_API_KEY: 'pk_somebody', ...environment },
  });
  product.close();
  return { ...result, requests };
}

it('connects a number of Twilio with the account of the environment', async () => {
  const account = { TWILIO_ACCOUNT_SID: 'AC1', TWILIO_AUTH_TOKEN: 'secret' };
  const { requests, out } = await run(['numbers', 'connect-twilio', NUMBER], account);
  const body = { account_sid: 'AC1', auth_token: 'secret', phone_number: NUMBER, replace: false };
  expect(requests).toEqual([['/v1/agent/phone-numbers/connect-twilio', body]]);
  expect(out).toContain(`calls to ${NUMBER} come here now`);
});

it.each([
  ['telnyx', ['--secret', 's'], { public_key: 's' }],
  ['vonage', ['--account', 'a', '--secret', 's'], { api_key: 'a', signature_secret: 's' }],
  ['plivo', ['--account', 'a', '--secret', 's'], { auth_id: 'a', auth_token: 's' }],
])('connects a number of %s, and names the address to enter there', async (vendor, options, fields) => {
  const { requests, out } = await run(['numbers', 'connect', vendor, NUMBER, ...options]);
  const body = { vendor, phone_number: NUMBER, ...fields };
  expect(requests).toEqual([['/v1/agent/phone-numbers/connect-stream', body]]);
  expect(out).toContain(`enter ${RECORD.media_stream.voice_url} at ${vendor}`);
});

it.each([
  [['connect-twilio', NUMBER], 'set TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN'],
  [['connect', 'other', NUMBER, '--secret', 's'], 'must be telnyx, vonage or plivo'],
  [['connect', 'plivo', NUMBER, '--secret', 's'], 'plivo needs --secret and --account'],
])('says what %j lacks', async (args, problem) => {
  const { err, requests } = await run(['numbers', ...args]);
  expect(err).toContain(problem);
  expect(requests).toEqual([]);
});

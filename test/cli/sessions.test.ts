import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { runParley } from '../command-line.ts';

const SESSION = {
  session_id: 's1',
  agent_name: 'Front desk',
  status: 'completed',
  end_reason: 'user_hangup',
  direction: 'inbound',
  source: 'phone',
  caller_number: '+12125550123',
  dialed_number: '+15550100000',
  started_at: '2026-11-24T09:30:00.000Z',
  duration_seconds: 20,
  items: [],
  turns: [],
  analysis: null,
};

/** What `parley sessions show` prints of a session with this media quality. */
async function shown(media_quality: object | null): Promise<string> {
  const product = createServer((_, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ ...SESSION, media_quality }));
  }).listen(0, '127.0.0.1');
  await once(product, 'listening');
  const url = `http://127.0.0.1:${(product.address() as AddressInfo).port}`;
  const { out } = await runParley(['sessions', 'show', 's1'], {
    folder: tmpdir(),
    environment: { PARLEY_URL: url, PARLEY_API_KEY: 'pk_somebody' },
  });
  product.close();
  return out;
}

it.each([
  [
    'packets from another address',
    { expected_address: '192.0.2.7', refused_addresses: ['127.0.0.1'] },
    'No audio arrived from 192.0.2.7; packets came from 127.0.0.1 and were refused',
  ],
  [
    'packets that could not be read',
    { expected_address: '192.0.2.7', refused_addresses: [], unreadable_packets: 50 },
    'No audio arrived from 192.0.2.7; unreadable packets: 50 or more; is the audio encrypted',
  ],
  [
    'no packet',
    { expected_address: '192.0.2.7', refused_addresses: [] },
    'No packet arrived from 192.0.2.7: look for a firewall, or a phone behind NAT',
  ],
  [
    'no packet through a relay',
    { expected_address: null, refused_addresses: [] },
    'No audio arrived from the media relay: ask the operator',
  ],
])(
  'parley sessions show says why nothing was heard from the caller: %s',
  { timeout: 60_000 },
  async (...one) => {
    const [, unheard, said] = one;
    expect(await shown({ packets_received: 0, unheard })).toContain(`Unheard  ${said}`);
  },
);

it('parley sessions show has no such line for a caller who was heard', { timeout: 60_000 }, async () => {
  const out = await shown({ packets_received: 900 });
  expect(out).toMatch(/^Session {2}s1$/m);
  expect(out).not.toContain('Unheard');
});

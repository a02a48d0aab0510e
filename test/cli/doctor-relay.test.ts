import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Finding } from '#cli/check-result.ts';
import { checkRelays } from '#cli/doctor-relay.ts';
import { readSettings } from '#config/env.ts';
import { freeUdpPort } from '../free-port.ts';

async function findings(RTPENGINE: string): Promise<Finding[]> {
  const found: Finding[] = [];
  for await (const finding of checkRelays(readSettings({ RTPENGINE }))) found.push(finding);
  return found;
}

it('the doctor does not mention relays if none is configured', async () => {
  expect(await findings('')).toEqual([]);
});

it('the doctor checks each relay and gives advice for one that does not answer', async () => {
  const relay = createSocket('udp4');
  relay.on('message', (datagram, { port }) =>
    relay.send(`${datagram.toString().split(' ')[0]} d6:result4:ponge`, port, '127.0.0.1'),
  );
  relay.bind(0, '127.0.0.1');
  await once(relay, 'listening');
  const silent = await freeUdpPort();
  try {
    expect(await findings(`127.0.0.1:${relay.address().port},127.0.0.1:${silent}`)).toEqual([
      { what: 'Media relay', verdict: 'ok', found: `rtpengine answers at 127.0.0.1:${relay.address().port}` },
      {
        what: 'Media relay',
        verdict: 'failed',
        found: `rtpengine at 127.0.0.1:${silent} does not answer`,
        advice: expect.stringContaining('RTPENGINE'),
      },
    ]);
  } finally {
    relay.close();
  }
});

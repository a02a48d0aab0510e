import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { CheckResult } from '#cli/check-result.ts';
import { checkRelays } from '#cli/doctor-relay.ts';
import { readSettings } from '#config/env.ts';
import { freeUdpPort } from '../free-port.ts';

async function results(RTPENGINE: string): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for await (const result of checkRelays(readSettings({ RTPENGINE }))) results.push(result);
  return results;
}

it('the doctor does not mention relays if none is configured', async () => {
  expect(await results('')).toEqual([]);
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
    expect(await results(`127.0.0.1:${relay.address().port},127.0.0.1:${silent}`)).toEqual([
      {
        subject: 'Media relay',
        verdict: 'ok',
        result: `rtpengine answers at 127.0.0.1:${relay.address().port}`,
      },
      {
        subject: 'Media relay',
        verdict: 'failed',
        result: `rtpengine at 127.0.0.1:${silent} does not answer`,
        fix: expect.stringContaining('RTPENGINE'),
      },
    ]);
  } finally {
    relay.close();
  }
});

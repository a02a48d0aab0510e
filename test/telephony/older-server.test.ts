import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { connectTestWorker } from '#test/fakes/signalling.ts';

/** Time for a ping on the loopback. */
const TURN_MS = 20;

/** Answers the authentication as a server of this version does; nothing else. */
async function connectTo(version: string) {
  const heard: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('data', (bytes) => {
      const text = bytes.toString();
      heard.push(text);
      const id = /#([^|]*)\|authenticate/.exec(text)?.[1];
      const answer = `1|response|${id}|OK|udp/127.0.0.1:5060|${version}`;
      if (id) socket.write(`${answer.length}#${answer}`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const clock = new ManualClock();
  const appPort = typeof address === 'object' && address ? address.port : 0;
  const worker = await connectTestWorker({ appPort }, 'worker-1', clock);
  for (let second = 0; second < 10; second++) {
    await clock.advance(1_000);
    await sleep(TURN_MS);
  }
  const found = { pings: heard.join('').includes('|ping'), isConnected: worker.isConnected };
  worker.close();
  for (const socket of sockets) socket.destroy();
  server.close();
  return found;
}

it.each([
  ['v0.8.1', false],
  ['v0.8.25-rc3', true],
] as const)('a drachtio-server %s is pinged: %s, and kept if it is the only one', async (version, pings) => {
  expect(await connectTo(version)).toEqual({ pings, isConnected: true });
});

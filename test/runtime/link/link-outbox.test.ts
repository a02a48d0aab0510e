import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { WorkerMessage } from '#protocol/worker-link.ts';
import { LinkOutbox } from '#runtime/link/link-outbox.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const opened: { close(): void }[] = [];
afterEach(() => {
  for (const thing of opened.splice(0)) thing.close();
});

/** An outbox on a real socket, and its received output; of captions, only the call and the words. */
async function link() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  opened.push(server);
  await once(server, 'listening');
  const arrived: string[] = [];
  server.on('connection', (peer) => {
    peer.on('message', (data) => {
      const message = JSON.parse(String(data)) as WorkerMessage;
      arrived.push(
        message.type === 'live' ? `${message.session_id}: ${message.event['text']}` : message.type,
      );
    });
  });
  const clock = new ManualClock();
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const outbox = new LinkOutbox(socket, clock);
  opened.push({ close: () => socket.terminate() });
  await once(socket, 'open');
  return { arrived, clock, outbox, socket };
}

function caption(sessionId: string, text: string, final = false): WorkerMessage {
  return {
    type: 'live',
    session_id: sessionId,
    epoch: 1,
    event: { type: 'transcript', role: 'agent', text, final },
  };
}
const heartbeat: WorkerMessage = { type: 'heartbeat', calls: 1, free_slots: 1, loop_lag_p95_ms: 0 };

it('captions are sent together after a tenth of a second, only the last of each call', async () => {
  const { arrived, clock, outbox } = await link();
  outbox.put(caption('a', 'Good'));
  outbox.put(caption('b', 'Yes'));
  await clock.advance(60);
  outbox.put(caption('a', 'Good morning'));
  await clock.advance(39);
  expect(arrived).toEqual([]);
  await clock.advance(1);
  await expect.poll(() => arrived).toEqual(['b: Yes', 'a: Good morning']);
});

it('everything else is sent at once, after pending captions: the order is preserved', async () => {
  const { arrived, outbox } = await link();
  outbox.put(caption('a', 'Good'));
  outbox.put(caption('b', 'Yes'));
  outbox.put(heartbeat);
  outbox.put(caption('a', 'Good morning.', true));
  await expect.poll(() => arrived).toEqual(['b: Yes', 'heartbeat', 'a: Good morning.']);
});

it('pending messages are sent before the link closes', async () => {
  const { arrived, outbox, socket } = await link();
  outbox.put(caption('a', 'Good'));
  outbox.put(heartbeat);
  outbox.flush();
  socket.close();
  await expect.poll(() => arrived).toEqual(['a: Good', 'heartbeat']);
});

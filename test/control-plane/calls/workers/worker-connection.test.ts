import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { type Clock, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import {
  openWorkerConnection,
  type WorkerConnection,
} from '#control-plane/calls/workers/worker-connection.ts';
import type { WorkerMessage } from '#protocol/worker-link.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

const REGISTER = {
  type: 'register',
  link_version: 1,
  instance_id: 'w1',
  supervisor_run: null,
  capacity: 2,
  codecs: ['PCMU'],
  sip_tag: 'w1',
  kinds: ['phone'],
  sessions: [],
  spools_of: [],
} satisfies WorkerMessage;

const HEARTBEAT = {
  type: 'heartbeat',
  calls: 0,
  free_slots: 2,
  loop_lag_p95_ms: 0,
} satisfies WorkerMessage;

let server: WebSocketServer;
let client: WebSocket;
let pongs: string[];

beforeEach(async () => {
  pongs = [];
  server = new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong: false });
  await once(server, 'listening');
});
afterEach(() => {
  client.terminate();
  server.close();
});

/** Connects a worker and registers it. */
async function connect(isListed: boolean, clock: Clock = systemClock): Promise<WorkerConnection> {
  const registered = Promise.withResolvers<WorkerConnection>();
  server.once('connection', (socket) =>
    openWorkerConnection(socket, {
      clock,
      logger: createLogger({ level: 'silent', name: 'test' }),
      silenceMs: 60_000,
      isListed,
      onRegister: registered.resolve,
      onMessage: () => undefined,
      onClose: () => undefined,
    }),
  );
  client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client.on('pong', (data) => pongs.push(String(data)));
  await once(client, 'open');
  client.send(JSON.stringify(REGISTER));
  return registered.promise;
}

/** Resolves when everything sent before has been read at the other end and answered. */
async function settled(worker: WorkerConnection): Promise<void> {
  client.send(JSON.stringify({ type: 'answer', request_id: 'settled', result: { ok: true, value: {} } }));
  await worker.waitForAnswer('settled', 10_000);
  const echo = once(client, 'message');
  worker.send({ type: 'registered', link_version: 1 });
  await echo;
}

describe('a ping of a worker', () => {
  it('is answered at once by the only replica', async () => {
    const worker = await connect(false);
    client.ping('1');
    await settled(worker);
    expect(pongs).toEqual(['1']);
  });

  it('waits until the other replicas can read that this one hears the worker; only the last is answered', async () => {
    const worker = await connect(true);
    client.ping('1');
    client.ping('2');
    await settled(worker);
    expect(pongs).toEqual([]);
    const answer = worker.takePing();
    client.ping('3');
    await settled(worker);
    answer();
    await settled(worker);
    expect(pongs).toEqual(['2']);
    worker.takePing()();
    worker.takePing()();
    await settled(worker);
    expect(pongs).toEqual(['2', '3']);
  });
});

describe('the watch of a link', () => {
  it.each([
    { load: 'with calls each', calls: 3, expected: [1, 2, 3, 4] },
    { load: 'without calls every second', calls: 0, expected: [1, 1, 2, 2] },
  ])('answers $load heartbeat with a ping, by which the worker knows that it is heard', async (load) => {
    const worker = await connect(false);
    let pings = 0;
    client.on('ping', () => {
      pings += 1;
    });
    const counted: number[] = [];
    for (const _ of load.expected) {
      client.send(JSON.stringify({ ...HEARTBEAT, calls: load.calls }));
      await settled(worker);
      counted.push(pings);
    }
    expect(counted).toEqual(load.expected);
  });

  it('closes a link as soon as it has been silent for too long, and wakes only to look for that', async () => {
    const clock = new ManualClock();
    const worker = await connect(false, clock);
    await clock.advance(40_000);
    await settled(worker);
    await clock.advance(60_000);
    await settled(worker);
    const closed = once(client, 'close');
    await clock.advance(60_000);
    expect(client.readyState).toBe(WebSocket.OPEN);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1);
    await closed;
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a worker that is asked whether it is there', () => {
  it('is if it answers in time, and is not if it reads nothing', async () => {
    const worker = await connect(true);
    expect(await worker.answersWithin(10_000)).toBe(true);
    client.pause();
    expect(await worker.answersWithin(50)).toBe(false);
    client.resume();
    expect(await worker.answersWithin(10_000)).toBe(true);
  });
});

describe('an offer that two replicas have made to a worker at the same time', () => {
  const offer = { sessionId: 's1', epoch: 2 };

  it('is accepted for both by one answer', async () => {
    const worker = await connect(true);
    const verdicts = [worker.waitForVerdict(offer, 10_000), worker.waitForVerdict(offer, 10_000)];
    client.send(JSON.stringify({ type: 'accept', session_id: 's1', epoch: 2 }));
    expect(await Promise.all(verdicts)).toEqual(['accepted', 'accepted']);
  });

  it('is still awaited by one when the other has given up', async () => {
    const worker = await connect(true);
    const [patient, impatient] = [worker.waitForVerdict(offer, 10_000), worker.waitForVerdict(offer, 10)];
    expect(await impatient).toBe('late');
    client.send(JSON.stringify({ type: 'accept', session_id: 's1', epoch: 2 }));
    expect(await patient).toBe('accepted');
  });
});

/** Both sides of media streams as WebSocket clients of a server, on a clock under the test's control. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { createLogger } from '#base/log.ts';
import { type StreamContext, serveMediaStreams } from '#control-plane/calls/streams/serve-media-streams.ts';
import { streamAddress } from '#control-plane/calls/streams/stream-ticket.ts';
import { createSecretBox } from '#control-plane/platform/secrets/secret-box.ts';
import { createMemoryCoordination } from '#control-plane/platform/store/coordination.ts';
import { STREAM_CLOSE, WORKER_STREAM_PATH } from '#protocol/media-streams.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

const TOKEN = 'the-workers-token';
const CONNECTED = JSON.stringify({ event: 'connected' });
const START = JSON.stringify({ event: 'start', streamSid: 'MZ1' });

let clock: ManualClock;
let server: Server;
let streams: ReturnType<typeof serveMediaStreams>;
let context: StreamContext;
let url: string;
const open: Side[] = [];

beforeEach(async () => {
  clock = new ManualClock();
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  context = {
    clock,
    logger: createLogger({ level: 'silent', name: 'test' }),
    coordination: createMemoryCoordination(clock),
    credentials: { workerToken: TOKEN } as never,
    secretBox: createSecretBox(randomBytes(32)),
    publicAddress: { url } as never,
  };
  streams = serveMediaStreams(context, { vendors: server, workers: [server] });
});
afterEach(async () => {
  for (const side of open.splice(0)) side.socket.terminate();
  await streams.close();
  server.closeAllConnections();
  server.close();
  await context.coordination.close();
});

interface Side {
  readonly socket: WebSocket;
  /** What came so far. */
  readonly received: string[];
  /** The code with which it is closed. */
  readonly closed: Promise<number>;
  send(text: string): void;
}

function addressOf(sessionId: string): string {
  return streamAddress(context, sessionId);
}

async function connect(address: string, headers: Record<string, string> = {}): Promise<Side> {
  const socket = new WebSocket(address, { headers });
  const received: string[] = [];
  socket.on('message', (data) => received.push(String(data)));
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const side = { socket, received, closed, send: (text: string) => socket.send(text) };
  open.push(side);
  return side;
}

function joinAsWorker(sessionId: string): Promise<Side> {
  return connect(`${url.replace('http', 'ws')}${WORKER_STREAM_PATH}${sessionId}`, {
    authorization: `Bearer ${TOKEN}`,
  });
}

/** Waits until a side has received so many messages. */
async function hasReceived(side: Side, count: number): Promise<readonly string[]> {
  while (side.received.length < count) await once(side.socket, 'message');
  return side.received;
}

/** A stream that has started, with its worker. */
async function running(): Promise<{ vendor: Side; worker: Side }> {
  const vendor = await connect(addressOf('s1'));
  vendor.send(CONNECTED);
  vendor.send(START);
  const worker = await joinAsWorker('s1');
  await hasReceived(worker, 2);
  return { vendor, worker };
}

describe('a media stream', () => {
  it('passes messages on in both directions as they are', async () => {
    const { vendor, worker } = await running();
    vendor.send('{"event": "media"}');
    expect(await hasReceived(worker, 3)).toEqual([CONNECTED, START, '{"event": "media"}']);
    worker.send('{"event": "clear"}');
    expect(await hasReceived(vendor, 1)).toEqual(['{"event": "clear"}']);
  });

  it('may be reached by the worker first', async () => {
    const worker = await joinAsWorker('s1');
    const vendor = await connect(addressOf('s1'));
    vendor.send(START);
    expect(await hasReceived(worker, 1)).toEqual([START]);
  });

  it('goes on with another worker, which gets its beginning', async () => {
    const { vendor, worker } = await running();
    worker.socket.terminate();
    const next = await joinAsWorker('s1');
    expect(await hasReceived(next, 2)).toEqual([CONNECTED, START]);
    next.send('hello');
    expect(await hasReceived(vendor, 1)).toEqual(['hello']);
  });

  it('has one worker: the last that came', async () => {
    const { worker } = await running();
    await joinAsWorker('s1');
    expect(await worker.closed).toBe(STREAM_CLOSE.replaced);
  });

  it('ends for the vendor when the worker hangs up, and for the worker when the vendor leaves', async () => {
    const first = await running();
    first.worker.socket.close(STREAM_CLOSE.hungUp);
    expect(await first.vendor.closed).toBe(1000);
    const vendor = await connect(addressOf('s2'));
    vendor.send(START);
    const worker = await joinAsWorker('s2');
    vendor.socket.close();
    expect(await worker.closed).toBe(STREAM_CLOSE.noVendor);
  });

  it('ends if the vendor, or its first worker, does not come', async () => {
    const worker = await joinAsWorker('s1');
    const vendor = await connect(addressOf('s2'));
    vendor.send(START);
    // The server has read it once it answers.
    vendor.socket.ping();
    await once(vendor.socket, 'pong');
    await clock.advance(20_000);
    expect([await worker.closed, await vendor.closed]).toEqual([STREAM_CLOSE.noVendor, 1000]);
  });

  it('ends if no other worker comes', async () => {
    const { vendor, worker } = await running();
    worker.socket.close(STREAM_CLOSE.left);
    await worker.closed;
    // The server has seen it once it answers another connection.
    await joinAsWorker('other');
    await clock.advance(20_000);
    expect(await vendor.closed).toBe(1000);
  });
});

describe('a worker that came to another replica', () => {
  let other: { server: Server; streams: ReturnType<typeof serveMediaStreams> };

  beforeEach(async () => {
    const second = createServer();
    second.listen(0, '127.0.0.1');
    await once(second, 'listening');
    other = { server: second, streams: serveMediaStreams(context, { vendors: second, workers: [second] }) };
  });
  afterEach(async () => {
    await other.streams.close();
    other.server.closeAllConnections();
    other.server.close();
  });

  function joinOther(): Promise<Side> {
    const { port } = other.server.address() as AddressInfo;
    const address = `ws://127.0.0.1:${port}${WORKER_STREAM_PATH}s1`;
    return connect(address, { authorization: `Bearer ${TOKEN}` });
  }

  it('is sent away if the vendor is here', async () => {
    await connect(addressOf('s1'));
    expect(await (await joinOther()).closed).toBe(STREAM_CLOSE.elsewhere);
  });

  it('is sent away once the vendor comes', async () => {
    const worker = await joinOther();
    await connect(addressOf('s1'));
    expect(await worker.closed).toBe(STREAM_CLOSE.elsewhere);
  });

  it('is sent away after news that no replica of this version would send', async () => {
    for (const news of [null, 'here', { is: 'gone', session: 's1', replica: 'r1' }])
      await context.coordination.publish('media-streams', news);
    await connect(addressOf('s1'));
    expect(await (await joinOther()).closed).toBe(STREAM_CLOSE.elsewhere);
  });
});

describe('a stranger', () => {
  it.each(['', 'guessed', 'x'.repeat(2_000)])('gets nowhere with the ticket "%.10s"', async (ticket) => {
    const address = `${url.replace('http', 'ws')}/carriers/streams/${ticket}`;
    await expect(connect(address)).rejects.toThrow('403');
  });

  it('gets nowhere with a ticket that was used', async () => {
    const address = addressOf('s1');
    await connect(address);
    await expect(connect(address)).rejects.toThrow('403');
  });

  it('gets nowhere with an old ticket', async () => {
    const address = addressOf('s1');
    await clock.advance(61_000);
    await expect(connect(address)).rejects.toThrow('403');
  });

  it('gets nowhere without the workers’ token', async () => {
    const address = `${url.replace('http', 'ws')}${WORKER_STREAM_PATH}s1`;
    await expect(connect(address)).rejects.toThrow('401');
    await expect(connect(address, { authorization: 'Bearer guessed' })).rejects.toThrow('401');
  });
});

describe('a hostile vendor', () => {
  it('that does not start is cut off after 5 s', async () => {
    const vendor = await connect(addressOf('s1'));
    await clock.advance(5_000);
    expect(await vendor.closed).toBe(1008);
  });

  it.each(['not JSON', '[]', '{"event":"media"}'])('that begins with %s is cut off', async (text) => {
    const vendor = await connect(addressOf('s1'));
    for (let sent = 0; sent < 4; sent++) vendor.send(text);
    expect(await vendor.closed).toBe(1008);
  });

  it('that floods is cut off', async () => {
    const { vendor } = await running();
    for (let sent = 0; sent < 1_100; sent++) vendor.send('{}');
    expect(await vendor.closed).toBe(1008);
  });

  it('that sends more than any audio is long is cut off', async () => {
    const { vendor } = await running();
    for (let sent = 0; sent < 20; sent++) vendor.send('x'.repeat(60_000));
    expect(await vendor.closed).toBe(1008);
  });

  it('that sends too long a message is cut off', async () => {
    const { vendor } = await running();
    vendor.send('x'.repeat(70_000));
    expect(await vendor.closed).toBe(1009);
  });
});

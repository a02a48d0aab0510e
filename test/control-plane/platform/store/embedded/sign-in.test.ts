/** The server on a port of the loopback interface, where every program of the machine reaches it. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Binary, deserialize, serialize } from 'bson';
import mongoose from 'mongoose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '#control-plane/platform/store/embedded/documents.ts';
import { StoreServer } from '#control-plane/platform/store/embedded/server.ts';
import { openStore } from '#control-plane/platform/store/embedded/store.ts';
import { ManualClock } from '../../../../fakes/manual-clock.ts';

const PASSWORD = 'b1946ac92492d2347c6235b4d2611184';
const WRONG_PASSWORD = 'c2957bd03503e3458d7346c5e3722295';

let directory: string;
let store: Store;
let server: StoreServer;
let url: string;
const sockets: Socket[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'parley-sign-in-'));
  store = openStore(join(directory, 'd.sqlite'));
  server = new StoreServer({
    store,
    reader: { run: () => expect.unreachable(), checkpoint: async () => 0 },
    clock: new ManualClock(),
    expiryMs: 60_000,
    endpoint: { type: 'port', password: PASSWORD },
  });
  url = await server.listen();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
  store.sqlite.close();
  rmSync(directory, { recursive: true, force: true });
});

async function write(clientUrl: string): Promise<unknown> {
  const connection = mongoose.createConnection(clientUrl, { dbName: 'test' });
  try {
    await connection.asPromise();
    return await connection.collection<{ _id: number }>('things').insertOne({ _id: 1 });
  } finally {
    await connection.close();
  }
}

async function open(): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

function message(command: Record<string, unknown>): Buffer {
  const body = serialize(command);
  const head = Buffer.alloc(21);
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(2013, 12);
  return Buffer.concat([head, body]);
}

async function reply(socket: Socket, command: Record<string, unknown>): Promise<Record<string, unknown>> {
  socket.write(message(command));
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return deserialize(bytes.subarray(21));
}

/** All that the server sends until it closes the connection. */
async function repliesUntilClose(socket: Socket, bytes: Buffer): Promise<Buffer> {
  const received: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  socket.write(bytes);
  await once(socket, 'close');
  return Buffer.concat(received);
}

function signIn(password: string, mechanism = 'PLAIN'): Record<string, unknown> {
  const payload = new Binary(Buffer.from(`\0parley\0${password}`));
  return { saslStart: 1, mechanism, payload, $db: '$external' };
}

describe('the embedded database on a port', () => {
  it('serves a client that signs in', async () => {
    expect(await write(url)).toMatchObject({ acknowledged: true });
  });

  it.each([
    ['another', WRONG_PASSWORD],
    ['a shorter', 'b1946ac9'],
  ])('refuses a client with %s password', async (_which, password) => {
    await expect(write(url.replace(PASSWORD, password))).rejects.toMatchObject({ code: 18 });
  });

  it('refuses the commands of a client that does not sign in', async () => {
    const { host } = new URL(url);
    await expect(write(`mongodb://${host}/?directConnection=true`)).rejects.toMatchObject({ code: 13 });
  });

  it('does not send the password back', async () => {
    const { payload } = await reply(await open(), signIn(PASSWORD));
    expect((payload as Binary).length()).toBe(0);
  });

  it.each([
    ['a wrong password', signIn(WRONG_PASSWORD), 18, 'the password is wrong'],
    ['a mechanism that it lacks', signIn(PASSWORD, 'SCRAM-SHA-256'), 18, 'PLAIN'],
    ['a command without a sign-in', { find: 'things', $db: 'test' }, 13, 'has not signed in'],
  ])('closes the connection after %s, and reads no more of it', async (_what, command, code, text) => {
    const received = await repliesUntilClose(
      await open(),
      Buffer.concat([message(command), message(signIn(PASSWORD))]),
    );
    expect(received.length).toBe(received.readInt32LE(0));
    expect(deserialize(received.subarray(21))).toMatchObject({
      ok: 0,
      code,
      errmsg: expect.stringContaining(text),
    });
  });

  it('closes a connection that announces more than 4 KB before it has signed in', async () => {
    const socket = await open();
    expect(await reply(socket, { ping: 1, text: 'x'.repeat(4_000) })).toEqual({ ok: 1 });
    const announced = message({ ping: 1, text: 'x'.repeat(4_096) }).subarray(0, 16);
    expect(await repliesUntilClose(socket, announced)).toHaveLength(0);
  });

  it('takes long messages once a client has signed in', async () => {
    const socket = await open();
    expect(await reply(socket, signIn(PASSWORD))).toMatchObject({ ok: 1, done: true });
    expect(await reply(socket, { ping: 1, text: 'x'.repeat(100_000) })).toEqual({ ok: 1 });
  });

  it('closes connections beyond the 128th at once', async () => {
    const first = await Promise.all(Array.from({ length: 128 }, open));
    const next = await open();
    await once(next, 'close');
    for (const socket of first) expect(await reply(socket, { ping: 1 })).toEqual({ ok: 1 });
  });
});

import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { encode } from '@msgpack/msgpack';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import WebSocket from 'ws';
import { admit } from '#control-plane/speech/requests/speech-service.ts';
import type { SpeechSlot } from '#media/speech/pool/speech-thread.ts';
import { openTestApi, type TestApi, type TestUser } from '../test-api.ts';

// Threads start and engines warm up, which takes time on a loaded machine.
vi.setConfig({ testTimeout: 180_000 });

const ROUNDS = 2;
const MIB = 1_048_576;
let api: TestApi;
let user: TestUser;
let port = 0;
beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser();
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  port = (api.app.server.address() as AddressInfo).port;
});
afterAll(() => api.close());

const send = (path: string, type: string, body: Buffer | string) =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${user.key}`, 'content-type': type },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });

/** A file with the start of its format, followed by noise. */
function damaged(head: string): Buffer {
  const file = Buffer.alloc(2 * MIB);
  for (let at = 0; at < file.length; at++) file[at] = (at * 2_654_435_761) >>> 13;
  file.write(head, 'latin1');
  return file;
}

async function malformedAudio(): Promise<void> {
  for (const head of ['RIFF', 'ID3\x04', 'OggS\0', 'fLaC', '\x1aE\xdf\xa3']) {
    const { status } = await send(
      '/v1/asr',
      'application/msgpack',
      Buffer.from(encode({ audio: new Uint8Array(damaged(head)) })),
    );
    expect([400, 415], head).toContain(status);
  }
}

async function giantText(): Promise<void> {
  expect(
    (await send('/v1/tts', 'application/json', JSON.stringify({ text: 'a'.repeat(6 * MIB) }))).status,
  ).toBe(413);
  const nested = '['.repeat(5 * MIB);
  expect((await send('/compat/v1/audio/speech', 'application/json', nested)).status).toBe(400);
}

async function wrongMsgpack(): Promise<void> {
  // Nested lists, each of which claims a length of four million.
  const bomb = Buffer.alloc(5 * 400);
  for (let at = 0; at < bomb.length; at += 5) bomb.writeUInt32BE(4_000_000, at + 1);
  for (let at = 0; at < bomb.length; at += 5) bomb[at] = 0xdd;
  for (const body of [
    bomb,
    Buffer.alloc(8 * MIB, 0x91),
    Buffer.from([0xdf, 0xff, 0xff, 0xff, 0xff]),
    damaged('\x83'),
  ])
    expect((await send('/v1/tts', 'application/msgpack', body)).status).toBe(400);
}

/** Requests hours of audio, reads the first bytes and disconnects. */
async function slowReader(): Promise<void> {
  const body = JSON.stringify({
    text: 'This is one more sentence of a very long story. '.repeat(2_000),
    format: 'wav',
  });
  const head =
    `POST /v1/tts HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${user.key}\r\nContent-Type: ` +
    `application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const socket = connect(port, '127.0.0.1');
  socket.write(head + body);
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1.1 200/);
  socket.pause();
  socket.destroy();
}

async function suddenDisconnects(): Promise<void> {
  const half = connect(port, '127.0.0.1');
  half.write(
    `POST /v1/asr HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${user.key}\r\nContent-Type: ` +
      `multipart/form-data; boundary=x\r\nContent-Length: ${4 * MIB}\r\n\r\n--x\r\nContent-Disposition: ` +
      'form-data; name="audio"; filename="a"\r\n\r\n',
  );
  await new Promise<void>((resolve) => half.write(Buffer.alloc(MIB), () => resolve()));
  half.destroy();
  const live = new WebSocket(`ws://127.0.0.1:${port}/v1/tts/live`, {
    headers: { authorization: `Bearer ${user.key}` },
  });
  await once(live, 'open');
  live.send(encode({ event: 'start', request: { text: 'Hello there. '.repeat(500), format: 'pcm' } }));
  live.send(encode({ event: 'flush' }));
  await once(live, 'message');
  live.terminate();
}

/** Waits until all places of the account are free again. */
async function placesAreFree(): Promise<void> {
  const slots: SpeechSlot[] = [];
  await expect
    .poll(
      async () => {
        const slot = await admit(api.context, user, 'synthesis').catch(() => null);
        if (slot) slots.push(slot);
        return slots.length;
      },
      { timeout: 60_000 },
    )
    .toBe(5);
  for (const slot of slots) slot.release();
}

it('misuse gets the documented errors, frees its places and leaves memory flat', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const round = async () => {
    for (const abuse of [malformedAudio, giantText, wrongMsgpack, slowReader, suddenDisconnects])
      await abuse();
    await placesAreFree();
  };
  const usedBytes = () => {
    collect();
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    return arrayBuffers + heapUsed;
  };
  await round();
  const before = usedBytes();
  for (let count = 0; count < ROUNDS; count++) await round();
  // Each round carries more than 30 MiB, so a leak of a quarter of it would show.
  await expect.poll(() => usedBytes() - before, { timeout: 30_000, interval: 500 }).toBeLessThan(16 * MIB);
});

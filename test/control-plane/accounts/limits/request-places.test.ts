import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';
import { type Announcement, Upload } from './upload.ts';

const MIB = 1_048_576;
let api: TestApi;
let user: TestUser;
let port: number;
const open: Socket[] = [];

beforeAll(async () => {
  api = await openTestApi({
    LIMIT_UPLOADS: '3',
    LIMIT_UPLOADS_PER_MINUTE: '20',
    LIMIT_UPLOAD_BYTES: String(10 * MIB),
    OVERDRAFT_LIMIT: '0.50',
  });
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  port = (api.app.server.address() as AddressInfo).port;
});
afterAll(() => api.close());
beforeEach(async () => {
  user = await api.createUser();
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

function upload(path: string, bytes: number | null, over: Partial<Announcement> = {}): Upload {
  const begun = new Upload({ port, key: user.key, path, bytes, ...over });
  open.push(begun.socket);
  return begun;
}

/**
 * Waits for the answer to an upload, or until it is clear that none is coming because the upload has taken
 * its place.
 */
async function outcome(asked: Upload): Promise<'taken' | number> {
  // Later requests on another connection have been answered by then, so a refusal of this one would have
  // arrived.
  for (let other = 0; other < 3; other++)
    await fetch(`http://127.0.0.1:${port}/v1/agent/models`, {
      headers: { authorization: `Bearer ${user.key}` },
    });
  return asked.status === 0 ? 'taken' : asked.status;
}

describe('uploads in progress', () => {
  it('security 9: are rejected beyond the limit before their body arrives, with advice', async () => {
    for (let count = 0; count < 3; count++) expect(await outcome(upload('/model', MIB))).toBe('taken');
    const refused = upload('/v1/agent/knowledge-sources', MIB);
    expect(await outcome(refused)).toBe(429);
    expect(refused.text).toMatch(/retry-after: 1\r\n/i);
    // The server does not read the rest of the body.
    if (!refused.socket.destroyed) await once(refused.socket, 'close');
    expect(refused.text).toContain(
      'This account has reached its limit of 3 uploads in progress at once: wait until one has finished, ' +
        'or try again in 1 s',
    );
  });

  it('security 9: leave room for other accounts, and an aborted upload frees its place', async () => {
    const uploads = [upload('/model', MIB), upload('/model', MIB), upload('/model', MIB)];
    for (const asked of uploads) expect(await outcome(asked)).toBe('taken');
    const other = await api.createUser();
    expect(await outcome(upload('/model', MIB, { key: other.key }))).toBe('taken');
    uploads[0]?.socket.destroy();
    await expect.poll(async () => outcome(upload('/model', MIB))).toBe('taken');
  });

  it('security 9: are limited in their announced total of bytes, and the refusal says so', async () => {
    expect(await outcome(upload('/model', 6 * MIB))).toBe('taken');
    const refused = upload('/model', 6 * MIB);
    expect(await outcome(refused)).toBe(429);
    expect(refused.text).toContain(
      `This account may have at most ${10 * MIB} bytes of uploads in progress: wait until one has finished`,
    );
    expect(await outcome(upload('/model', 3 * MIB))).toBe('taken');
  });

  it('security 9: take no place while their size is unknown and small, then count with the maximum size', async () => {
    const chunked = Array.from({ length: 5 }, () => upload('/model', null));
    for (const asked of chunked) expect(await outcome(asked)).toBe('taken');
    expect(await outcome(upload('/model', 6 * MIB))).toBe('taken');
    chunked[0]?.sendChunk(300_000);
    await expect.poll(() => chunked[0]?.status).toBe(429);
    expect(chunked[0]?.text).toContain('bytes of uploads in progress');
    const json = upload('/v1/agent/agents', null, { type: 'application/json' });
    json.socket.write('e\r\n{"name":"Ada"}\r\n0\r\n\r\n');
    await expect.poll(() => json.status).toBe(201);
  });

  it('security 9: are not executed before they are admitted if their size is unknown', async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
    const { promise: decided, resolve: decide } = Promise.withResolvers<void>();
    const { countInWindow } = api.context.coordination;
    api.context.coordination.countInWindow = async (...window) => {
      ask();
      await decided;
      return { ...(await countInWindow.call(api.context.coordination, ...window)), allowed: false };
    };
    try {
      const json = upload('/v1/agent/agents', null, { type: 'application/json' });
      const body = `${' '.repeat(300_000)}{"name":"Ada"}`;
      json.socket.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
      await asked;
      const agents = () => api.request('GET', '/v1/agent/agents', { key: user.key });
      for (let request = 0; request < 5; request++) expect((await agents()).body.agents).toEqual([]);
      expect(json.status).toBe(0);
      decide();
      await expect.poll(() => json.status).toBe(429);
      expect((await agents()).body.agents).toEqual([]);
    } finally {
      api.context.coordination.countInWindow = countInWindow;
    }
  });

  it('security 9: are limited in their starts per minute', async () => {
    for (let count = 0; count < 20; count++) {
      const begun = upload('/model', MIB);
      expect(await outcome(begun)).toBe('taken');
      begun.socket.destroy();
      await once(begun.socket, 'close');
      await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    }
    const refused = upload('/model', MIB);
    expect(await outcome(refused)).toBe(429);
    expect(refused.text).toContain('This account has reached its limit of 20 uploads a minute');
  });

  it('do not include a small body of known size', async () => {
    for (let count = 0; count < 5; count++) expect(await outcome(upload('/model', 100_000))).toBe('taken');
  });
});

describe('speech requests', () => {
  it('security 9: take their place before the body is read, and free it when aborted', async () => {
    const asked = Array.from({ length: 5 }, () => upload('/v1/asr', 1_000));
    for (const one of asked) expect(await outcome(one)).toBe('taken');
    for (const path of ['/compat/v1/audio/transcriptions', '/v1/tts']) {
      const refused = upload(path, 1_000);
      await expect.poll(() => refused.status).toBe(429);
    }
    const closed = once(asked[0]?.socket as Socket, 'close');
    asked[0]?.socket.destroy();
    await closed;
    await expect.poll(async () => outcome(upload('/v1/asr', 1_000))).toBe('taken');
  });

  it('security 9: are limited by what the account has paid, whatever the size of their bodies', async () => {
    await api.context.ledger.post({
      userId: user.userId,
      key: 'paid',
      kind: 'top_up',
      amountMicros: 1_000_000_000,
    });
    const asked = Array.from({ length: 21 }, () => upload('/v1/asr', 300_000));
    for (const one of asked) expect(await outcome(one)).toBe('taken');
    for (const { socket } of asked) socket.write('x'.repeat(300_000));
    for (const one of asked) await expect.poll(() => one.status).toBe(400);
  });

  it('security 16: are refused only once the account is below zero by the operator’s limit', async () => {
    const speak = () =>
      api.request('POST', '/v1/tts', { key: user.key, body: { text: 'Hello.', format: 'wav' } });
    const spend = (key: string, micros: number) =>
      api.context.ledger.post({ userId: user.userId, key, kind: 'settle', amountMicros: -micros });
    await spend('to the limit', 10_500_000);
    expect((await speak()).status).toBe(200);
    await spend('beyond it', 1);
    const refused = await speak();
    expect([refused.status, refused.body.reason]).toEqual([402, 'overdrawn']);
  });
});

import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UploadPaces } from '#control-plane/platform/limits/upload-paces.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';
import { Upload } from './upload.ts';

const MIB = 1_048_576;

describe('pacing of uploads', () => {
  it('an upload counts with its announced size until it ends, then with its actual size', () => {
    const paces = new UploadPaces(new ManualClock(), MIB);
    const first = paces.begin('ada', 20 * MIB);
    expect(first.waitMs).toBe(0);
    expect(paces.begin('ada', MIB).waitMs).toBe(12_000);
    expect(paces.begin('bob', MIB).waitMs).toBe(0);
    for (let again = 0; again < 2; again++) first.end(10 * MIB);
    expect(paces.begin('ada', 0).waitMs).toBe(3_000);
  });

  it('an upload larger than announced counts with its full size', () => {
    const paces = new UploadPaces(new ManualClock(), 10 * MIB);
    paces.begin('ada', 16 * MIB).end(108 * MIB);
    expect(paces.begin('ada', 0).waitMs).toBe(10_000);
  });

  it('an upload that would wait over 30 s is refused with a retry time, and does not count', async () => {
    const clock = new ManualClock();
    const paces = new UploadPaces(clock, MIB);
    paces.begin('ada', 40 * MIB);
    for (let again = 0; again < 5; again++)
      expect(() => paces.begin('ada', 64 * MIB)).toThrow(
        `While others use the service, this account may upload at most ${MIB} bytes a second: try again ` +
          'in 32 s',
      );
    await clock.advance(2_000);
    expect(paces.begin('ada', MIB).waitMs).toBe(30_000);
  });
});

describe('pacing of uploads over HTTP', () => {
  let api: TestApi;
  let user: TestUser;
  let port: number;
  const open: Upload[] = [];

  beforeEach(async () => {
    api = await openTestApi({ LIMIT_UPLOAD_BYTES_PER_SECOND: String(MIB) });
    await api.app.listen({ host: '127.0.0.1', port: 0 });
    port = (api.app.server.address() as AddressInfo).port;
    user = await api.createUser();
  });
  afterEach(async () => {
    for (const { socket } of open.splice(0)) socket.destroy();
    await api.close();
  });

  const agents = (key: string) => api.request('GET', '/v1/agent/agents', { key });

  function upload(path: string, bytes: number | null, type?: string): Upload {
    const begun = new Upload({ port, key: user.key, path, bytes, ...(type && { type }) });
    open.push(begun);
    return begun;
  }

  /** Makes another account active, and begins an upload that makes this account's next one wait this long. */
  async function busy(seconds: number): Promise<Upload> {
    await agents(api.rootKey);
    const first = upload('/model', (8 + seconds) * MIB);
    await isLeft(first);
    return first;
  }

  /**
   * Waits until the server has had time to answer an upload; returns whether it is still open without an
   * answer.
   */
  async function isLeft(asked: Upload): Promise<boolean> {
    for (let round = 0; round < 5; round++)
      await fetch(`http://127.0.0.1:${port}/v1/agent/agents`, {
        headers: { authorization: `Bearer ${user.key}` },
      });
    return asked.text === '' && !asked.socket.destroyed;
  }

  it('an upload waits for earlier ones while another account asks, and is read at once otherwise', async () => {
    const raw = `${' '.repeat(4_000_000)}{"name":1}`;
    const send = () => api.request('POST', '/v1/agent/agents', { key: user.key, raw });
    await api.clock.advance(11_000);
    for (let alone = 0; alone < 5; alone++) expect((await send()).status).toBe(422);
    await agents(api.rootKey);
    for (let first = 0; first < 3; first++) expect((await send()).status).toBe(422);
    let isAnswered = false;
    const next = send().finally(() => {
      isAnswered = true;
    });
    for (let request = 0; request < 5; request++) await agents(api.rootKey);
    expect(isAnswered).toBe(false);
    await api.clock.advance(4_000);
    expect((await next).status).toBe(422);
  });

  it('an upload refused unread costs its account nothing, whatever its announced size', async () => {
    await agents(api.rootKey);
    for (let again = 0; again < 3; again++) {
      const large = upload('/v1/agent/agents', 50_000 * MIB, 'application/json');
      await expect.poll(() => large.status).toBe(413);
    }
  });

  it('an aborted upload gives its time back, and one aborted while waiting is forgotten', async () => {
    const first = await busy(20);
    const timers = api.clock.pendingTimers;
    const second = upload('/v1/agent/agents', MIB, 'application/json');
    await expect.poll(() => api.clock.pendingTimers).toBe(timers + 1);
    second.socket.destroy();
    await expect.poll(() => api.clock.pendingTimers).toBe(timers);
    first.socket.destroy();
    const raw = `${' '.repeat(300_000)}{"name":1}`;
    await isLeft(first);
    expect((await api.request('POST', '/v1/agent/agents', { key: user.key, raw })).status).toBe(422);
  });

  it('an upload that would outwait its connection is refused unread, with a retry time', async () => {
    await busy(31);
    const refused = upload('/v1/agent/agents', MIB, 'application/json');
    await expect.poll(() => refused.status).toBe(429);
    expect(refused.text).toMatch(/retry-after: 31\r\n/i);
    expect(refused.text).toMatch(/connection: close\r\n/i);
  });

  it('speech requests take no place while they wait for the pace', async () => {
    await busy(20);
    const waiting = Array.from({ length: 6 }, () => upload('/v1/asr', MIB));
    for (const one of waiting) expect(await isLeft(one)).toBe(true);
    expect((await api.request('POST', '/v1/tts', { key: user.key, body: {} })).status).toBe(422);
  });

  it('a short text of unknown size is spoken at once', async () => {
    await busy(20);
    const text = upload('/v1/tts', null, 'application/json');
    text.sendText('{"text":1}');
    text.endChunks();
    await expect.poll(() => text.status).toBe(422);
  });

  it('speech of unknown size waits for the pace once it exceeds a small body', async () => {
    await busy(20);
    const large = upload('/v1/tts', null, 'application/json');
    large.sendText(' '.repeat(300_000));
    large.sendText('{"text":1}');
    large.endChunks();
    expect(await isLeft(large)).toBe(true);
    await api.clock.advance(20_000);
    await expect.poll(() => large.status).toBe(422);
  });

  it('an upload of unknown size counts as 4 MiB in progress, then with its actual size', async () => {
    await agents(api.rootKey);
    const unstated = [1, 2, 3].map(() => upload('/v1/agent/agents', null, 'application/json'));
    for (const one of unstated) {
      one.sendText(' '.repeat(300_000));
      await isLeft(one);
    }
    const next = upload('/v1/agent/agents', 300_000, 'application/json');
    next.socket.write(`${' '.repeat(299_990)}{"name":1}`);
    expect(await isLeft(next)).toBe(true);
    await api.clock.advance(3_999);
    expect(await isLeft(next)).toBe(true);
    await api.clock.advance(1);
    await expect.poll(() => next.status).toBe(422);
    for (const one of unstated) {
      one.sendText('{"name":1}');
      one.endChunks();
      await expect.poll(() => one.status).toBe(422);
    }
    await agents(api.rootKey);
    const raw = `${' '.repeat(300_000)}{"name":1}`;
    expect((await api.request('POST', '/v1/agent/agents', { key: user.key, raw })).status).toBe(422);
  });
});

import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startStoringHeld, storeSilent } from '#control-plane/calls/recordings/store-silent.ts';
import type { Context } from '#control-plane/platform/context.ts';
import { HeldPieces } from '#control-plane/platform/held-pieces.ts';
import { type Blobs, openBlobs } from '#media/blobs/blobs.ts';
import { encodeFlac } from '#media/speech/audio/flac-encoder.ts';
import { type AudioHead, addressAnswer, packUploads, type Upload, uploadAnswer } from '#protocol/uploads.ts';
import { createPacker } from '#runtime/link/packer.ts';
import { S3_CREDENTIALS, startS3Server } from '#test/fakes/s3-server.ts';
import { memoryBlobs, type TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const RATE_HZ = 8_000;
/** Of a piece. */
const SAMPLES = 800;
const PIECE_MS = 100;
const MEBIBYTE = 1024 * 1024;

/** The stores of the control plane under test; each test has its own. */
const stores: { blobs: Blobs; held: HeldPieces } = { blobs: memoryBlobs(true), held: new HeldPieces() };
let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  const over: Partial<Context> = {
    get blobs() {
      return stores.blobs;
    },
    get held() {
      return stores.held;
    },
  };
  api = await openTestCalls({}, {});
  Object.defineProperties(api.context, Object.getOwnPropertyDescriptors(over));
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});
afterAll(() => api.close());
beforeEach(() => Object.assign(stores, { blobs: memoryBlobs(true), held: new HeldPieces() }));

async function call(): Promise<string> {
  const created = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: agentId },
  });
  await api.report(created.body.session_id, { type: 'joined', at: api.at() });
  return created.body.session_id;
}

const end = (id: string) => api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });

/** The samples of a piece: a tone of its own. */
const tone = (piece: number) =>
  Int16Array.from({ length: SAMPLES }, (_, at) => 5_000 * Math.sin((at * (piece + 1)) / 9) + piece);

/** Consecutive pieces of the object that begins with `object`; all of an object unless `isPart`. */
function audio(
  id: string,
  of: { object?: number; piece: number; pieces?: number; isPart?: boolean; epoch?: number },
): Upload {
  const { object = 0, piece, pieces = 1, isPart = pieces === 1, epoch = 1 } = of;
  const head: AudioHead = {
    type: 'audio',
    session_id: id,
    epoch,
    object,
    piece,
    pieces,
    is_part: isPart,
    track: 'user',
    start_ms: api.clock.wallTime() + piece * PIECE_MS,
    rate_hz: RATE_HZ,
    samples: pieces * SAMPLES,
  };
  const frames = Array.from({ length: pieces }, (_, at) =>
    encodeFlac(tone(piece + at), RATE_HZ, (piece + at - object) * SAMPLES),
  );
  return { head, bytes: Buffer.concat(frames) };
}

function log(id: string, piece: number, text: string, isPart = true): Upload {
  const of = { session_id: id, epoch: 1, object: 0, piece, pieces: 1, is_part: isPart };
  return { head: { type: 'log', ...of }, bytes: gzipSync(text) };
}

async function put(uploads: readonly Upload[]) {
  const response = await api.app.inject({
    method: 'POST',
    url: '/internal/pieces',
    headers: {
      authorization: `Bearer ${api.context.credentials.workerToken}`,
      'content-type': 'application/octet-stream',
    },
    payload: packUploads(uploads),
  });
  return uploadAnswer.parse(response.json());
}

const recording = (id: string) => api.request('GET', `/v1/agent/sessions/${id}/recording`, { key: user.key });
const names = async (id: string) =>
  (await stores.blobs.list(`sessions/${id}/recording/`)).map((key) =>
    key
      .split('/')
      .at(-1)
      ?.replace(/-\d{9,}-/, '-…-'),
  );

/** The pieces that the WAV of the caller contains, in their order. */
async function heard(id: string): Promise<Int16Array> {
  // Until then another control plane may hold something of it.
  await api.clock.advance(60_000);
  const { body } = await recording(id);
  const { pathname, search } = new URL(body.tracks[0].url);
  const { rawPayload } = await api.app.inject({ method: 'GET', url: `${pathname}${search}` });
  return new Int16Array(
    rawPayload.buffer.slice(rawPayload.byteOffset + 44, rawPayload.byteOffset + rawPayload.length),
  );
}
const said = (...pieces: number[]) => Int16Array.from(pieces.flatMap((piece) => [...tone(piece)]));

describe('pieces of a recording in a bucket', () => {
  it('are held, and read as if they were stored', async () => {
    const id = await call();
    expect(await put([audio(id, { piece: 0 }), audio(id, { piece: 1 })])).toEqual({
      refused: [],
      is_stored: false,
    });
    expect(await names(id)).toEqual([]);
    expect((await recording(id)).body).toMatchObject({
      status: 'processing',
      tracks: [{ duration_ms: 200 }],
    });
    await end(id);
    expect(await heard(id)).toEqual(said(0, 1));
  });

  it('are replaced by their object, in one request to the bucket, without loss', async () => {
    const id = await call();
    for (const piece of [0, 1, 2]) await put([audio(id, { piece })]);
    expect(await put([audio(id, { piece: 0, pieces: 3 })])).toEqual({ refused: [], is_stored: true });
    expect([await names(id), stores.held.bytes]).toEqual([['user-0001-000000-…-8000-2400-3.flac'], 0]);
    await end(id);
    expect(await heard(id)).toEqual(said(0, 1, 2));
  });

  it('count one by one until the recording is complete', async () => {
    const id = await call();
    const track = {
      role: 'user' as const,
      segments: 3,
      rate_hz: RATE_HZ,
      started_at: api.at(),
      duration_ms: 300,
    };
    await api.report(id, { type: 'recording', tracks: [track] });
    await end(id);
    await put([audio(id, { piece: 0, pieces: 2 })]);
    expect((await recording(id)).body.status).toBe('processing');
    await put([audio(id, { object: 2, piece: 2 })]);
    expect((await recording(id)).body.status).toBe('complete');
  });

  it('are stored as they are once their worker has been silent for 20 s', async () => {
    const id = await call();
    for (const piece of [0, 1, 3]) await put([audio(id, { piece })]);
    await storeSilent(api.context, api.clock.now() + 19_000);
    expect(await names(id)).toEqual([]);
    await storeSilent(api.context, api.clock.now() + 20_000);
    expect([await names(id), stores.held.bytes]).toEqual([
      ['user-0001-000000-…-8000-1600-2.flac', 'user-0001-000003-…-8000-800-1.flac'],
      0,
    ]);
    await end(id);
    expect(await heard(id)).toEqual(gapped(said(0, 1), tone(3)));
  });

  it('are heard once if their worker was only cut off, and has stored the object afterwards', async () => {
    const id = await call();
    for (const piece of [0, 1]) await put([audio(id, { piece })]);
    await storeSilent(api.context, Number.POSITIVE_INFINITY);
    await put([audio(id, { piece: 0, pieces: 3 })]);
    await end(id);
    expect(await heard(id)).toEqual(said(0, 1, 2));
  });

  it('are not stored again if another replica has got their object', async () => {
    const id = await call();
    const here = stores.held;
    await put([audio(id, { piece: 0 })]);
    stores.held = new HeldPieces();
    await put([audio(id, { piece: 0, pieces: 2 })]);
    stores.held = here;
    await storeSilent(api.context, Number.POSITIVE_INFINITY);
    expect(await names(id)).toEqual(['user-0001-000000-…-8000-1600-2.flac']);
  });

  it('are not decoded beyond the samples that they say they have', async () => {
    const id = await call();
    const { head } = audio(id, { piece: 0 });
    // The second frame would be refused.
    const bytes = Buffer.concat([audio(id, { piece: 0 }).bytes, Buffer.alloc(100)]);
    await put([{ head, bytes }]);
    await end(id);
    expect(await heard(id)).toEqual(said(0));
  });

  it('are stored at once if too much is held', async () => {
    const id = await call();
    const full = { ...audio('other', { piece: 0 }), bytes: Buffer.alloc(127 * MEBIBYTE) };
    expect(stores.held.hold(full, user.teamId, 0)).toBe(true);
    const more = { ...audio('other', { piece: 1 }), bytes: Buffer.alloc(MEBIBYTE - 2_048) };
    expect(stores.held.hold(more, user.teamId, 0)).toBe(true);
    expect(await put([audio(id, { piece: 1 })])).toEqual({ refused: [], is_stored: true });
    expect(await names(id)).toEqual(['user-0001-000001-…-8000-800-1.flac']);
  });

  it('are kept if the bucket is away when they are to be stored', async () => {
    const id = await call();
    await put([audio(id, { piece: 0 })]);
    const { put: store } = stores.blobs;
    stores.blobs.put = () => Promise.reject(new Error('away'));
    await storeSilent(api.context, Number.POSITIVE_INFINITY);
    stores.blobs.put = store;
    await storeSilent(api.context, Number.POSITIVE_INFINITY);
    expect(await names(id)).toEqual(['user-0001-000000-…-8000-800-1.flac']);
  });

  it('leave nothing behind once the person is erased, and are refused from an unknown worker’s epoch', async () => {
    const id = await call();
    await put([audio(id, { piece: 0 })]);
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    await put([audio(id, { piece: 0, pieces: 2 })]);
    expect(stores.held.bytes).toBe(0);
    await put([audio(id, { piece: 2 })]);
    await storeSilent(api.context, Number.POSITIVE_INFINITY);
    expect([await names(id), stores.held.bytes]).toEqual([[], 0]);
    expect(await put([audio(id, { piece: 2, epoch: 2 })])).toMatchObject({ refused: [0] });
    expect(await put([audio('unknown', { piece: 2 })])).toMatchObject({ refused: [0] });
  });
});

describe('pieces that are being stored', () => {
  const everything = () => storeSilent(api.context, Number.POSITIVE_INFINITY);

  it('stay if the database is away', async () => {
    const ids = [await call(), await call()];
    for (const id of ids) await put([audio(id, { piece: 0 })]);
    const find = () => ({ lean: () => Promise.reject(new Error('away')) });
    await storeSilent({ ...api.context, models: { sessions: { find } } as never }, Number.POSITIVE_INFINITY);
    expect(ids.map((id) => stores.held.of(id).length)).toEqual([1, 1]);
    await everything();
    expect([...(await names(ids[0] ?? '')), ...(await names(ids[1] ?? ''))]).toHaveLength(2);
  });

  it('do not hold up the end of a control plane whose database is away', async () => {
    const id = await call();
    await put([audio(id, { piece: 0 })]);
    let attempts = 0;
    const find = () => {
      attempts += 1;
      return { lean: () => Promise.reject(new Error('away')) };
    };
    const storing = startStoringHeld({ ...api.context, models: { sessions: { find } } as never });
    await storing.close();
    expect([attempts, stores.held.of(id).length]).toEqual([3, 1]);
  });

  it('are read meanwhile', async () => {
    const id = await call();
    for (const piece of [0, 1]) await put([audio(id, { piece })]);
    const { promise, resolve } = Promise.withResolvers<void>();
    const { put: store } = stores.blobs;
    stores.blobs.put = async (key, bytes) => {
      await promise;
      await store(key, bytes);
    };
    const storing = everything();
    expect((await recording(id)).body.tracks).toMatchObject([{ duration_ms: 200 }]);
    resolve();
    await storing;
    expect((await recording(id)).body.tracks).toMatchObject([{ duration_ms: 200 }]);
  });

  it('are deleted if the person is erased meanwhile', async () => {
    const id = await call();
    await put([audio(id, { piece: 0 })]);
    const { put: store } = stores.blobs;
    stores.blobs.put = async (key, bytes) => {
      await store(key, bytes);
      await api.context.models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    };
    await everything();
    expect([await names(id), stores.held.bytes]).toEqual([[], 0]);
  });

  it('are all heard once if two control planes had some of them both', async () => {
    const id = await call();
    for (const piece of [0, 1, 2]) await put([audio(id, { piece })]);
    const here = stores.held;
    stores.held = new HeldPieces();
    for (const piece of [1, 2, 3]) await put([audio(id, { piece })]);
    await everything();
    stores.held = here;
    // As if it had looked before the other one had stored anything.
    const { list } = stores.blobs;
    stores.blobs.list = async () => [];
    await everything();
    stores.blobs.list = list;
    await end(id);
    expect(await heard(id)).toEqual(said(0, 1, 2, 3));
  });

  it('are awaited for a minute after the end of a call whose worker was lost', async () => {
    const id = await call();
    await put([audio(id, { piece: 0 })]);
    const elsewhere = stores.held;
    stores.held = new HeldPieces();
    await end(id);
    expect((await recording(id)).body.status).toBe('processing');
    stores.held = elsewhere;
    await everything();
    await api.clock.advance(60_000);
    expect((await recording(id)).body.status).toBe('complete');
  });
});

/** Both with a silent piece between them. */
const gapped = (before: Int16Array, after: Int16Array) =>
  Int16Array.from([...before, ...new Int16Array(SAMPLES), ...after]);

describe('pieces of a recording in a directory', () => {
  it('are stored at once, and need no object', async () => {
    stores.blobs = memoryBlobs(false);
    const id = await call();
    expect(await put([audio(id, { piece: 0 }), audio(id, { piece: 1 })])).toEqual({
      refused: [],
      is_stored: true,
    });
    expect([await names(id), stores.held.bytes]).toEqual([
      ['user-0001-000000-…-8000-800-1.flac', 'user-0001-000001-…-8000-800-1.flac'],
      0,
    ]);
    await end(id);
    expect(await heard(id)).toEqual(said(0, 1));
  });
});

describe('an object that its worker stores in the bucket itself', () => {
  const ask = async (uploads: readonly Upload[], token = api.context.credentials.workerToken) =>
    api.request('POST', '/internal/object-addresses', {
      headers: { authorization: `Bearer ${token}` },
      body: { objects: uploads.map(({ head, bytes }) => ({ head, bytes: bytes.byteLength })) },
    });

  it('is encrypted with a key of its own, takes no request of the control plane, and is read', async () => {
    const [s3, packer] = [await startS3Server(), createPacker()];
    stores.blobs = openBlobs(`s3://calls?endpoint=${s3.endpoint}`, S3_CREDENTIALS);
    const id = await call();
    await put([audio(id, { piece: 0 })]);
    const whole = audio(id, { piece: 0, pieces: 3 });
    const lines = log(id, 0, 'lines', false);
    const { addresses } = addressAnswer.parse((await ask([whole, lines])).body);
    expect(new Set(addresses.map((address) => address?.key)).size).toBe(2);
    for (const [index, upload] of [whole, lines].entries()) {
      const address = addresses[index];
      if (!address) throw new Error('no address');
      expect(await packer.store(upload, address)).toBeNull();
      await put([{ head: { ...upload.head, salt: address.salt }, bytes: new Uint8Array() }]);
    }
    expect(stores.held.bytes).toBe(0);
    expect(s3.requests.map((request) => request.split(' ')[0])).toEqual(['PUT', 'PUT']);
    await end(id);
    expect(await heard(id)).toEqual(said(0, 1, 2));
    const flightLog = await api.request('GET', `/v1/agent/sessions/${id}/flight-log`, { key: user.key });
    expect(flightLog.text).toBe('lines');
    await Promise.all([s3.close(), packer.close()]);
  });

  it('is deleted if the person was erased before it was stored', async () => {
    const id = await call();
    const whole = audio(id, { piece: 0, pieces: 3 });
    const [address] = addressAnswer.parse((await ask([whole])).body).addresses;
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    await stores.blobs.put(`sessions/${id}/recording/${address?.name}`, Buffer.from('sealed'));
    await put([{ head: { ...whole.head, salt: address?.salt }, bytes: new Uint8Array() }]);
    expect(await names(id)).toEqual([]);
  });

  it('gets another key each time, which opens nothing that is stored', async () => {
    const id = await call();
    const whole = audio(id, { piece: 0, pieces: 3 });
    const [first] = addressAnswer.parse((await ask([whole])).body).addresses;
    const [second] = addressAnswer.parse((await ask([whole])).body).addresses;
    expect([second?.name === first?.name, second?.key === first?.key]).toEqual([false, false]);
  });

  it('gets no address once no worker can have anything of the call any more', async () => {
    const id = await call();
    const whole = audio(id, { piece: 0, pieces: 3 });
    await end(id);
    await api.clock.advance(9 * 60_000);
    expect((await ask([whole])).body.addresses).toMatchObject([{ salt: expect.any(String) }]);
    await api.clock.advance(60_000);
    expect((await ask([whole])).body.addresses).toEqual([null]);
  });

  it('gets no address without a bucket, a session, its key or the worker’s token', async () => {
    const id = await call();
    const whole = [audio(id, { piece: 0, pieces: 3 }), audio('unknown', { piece: 0, pieces: 3 })];
    const given = async () =>
      (await ask(whole)).body.addresses.map((address: object | null) => address !== null);
    expect(await given()).toEqual([true, false]);
    stores.blobs = memoryBlobs(false);
    expect(await given()).toEqual([false, false]);
    stores.blobs = memoryBlobs(true);
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    expect(await given()).toEqual([false, false]);
    expect((await ask(whole, user.key)).status).toBe(401);
  });
});

describe('pieces of a flight log', () => {
  const read = (id: string) => api.request('GET', `/v1/agent/sessions/${id}/flight-log`, { key: user.key });

  it('are not read once the person is erased', async () => {
    const id = await call();
    await put([log(id, 0, 'said')]);
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    expect((await read(id)).status).toBe(404);
  });

  it('are left out if they unpack to more than any worker writes', async () => {
    const id = await call();
    await put([log(id, 0, 'one '), log(id, 1, 'x'.repeat(32 * MEBIBYTE + 1)), log(id, 2, 'three')]);
    expect((await read(id)).text).toBe('one three');
  });

  it('are read in order, held or stored', async () => {
    const id = await call();
    await put([log(id, 1, 'two '), log(id, 0, 'one ')]);
    expect((await read(id)).text).toBe('one two ');
    await put([
      {
        head: { ...log(id, 0, '').head, pieces: 2, is_part: false },
        bytes: Buffer.concat([gzipSync('one '), gzipSync('two ')]),
      },
    ]);
    await put([log(id, 2, 'three')]);
    expect([(await read(id)).text, await stores.blobs.list(`sessions/${id}/flight-log/`)]).toEqual([
      'one two three',
      [`sessions/${id}/flight-log/0001-000000-2.gz`],
    ]);
  });
});

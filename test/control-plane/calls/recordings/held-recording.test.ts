import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { startStoringHeld, storeSilent } from '#control-plane/calls/recordings/store-silent.ts';
import { HeldPieces } from '#control-plane/platform/held-pieces.ts';
import { KeptPieces } from '#runtime/link/kept-pieces.ts';
import { LeftPieces } from '#runtime/link/left-pieces.ts';
import type { UploadSender } from '#runtime/link/upload-sender.ts';
import { memoryBlobs } from '../../test-api.ts';
import {
  api,
  audio,
  call,
  end,
  heard,
  MEBIBYTE,
  names,
  openHeldCalls,
  put,
  RATE_HZ,
  recording,
  SAMPLES,
  said,
  stores,
  tone,
  unanswered,
  user,
} from './held-calls.ts';

openHeldCalls();

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
    stores.held = new HeldPieces(9 * MEBIBYTE);
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
    stores.held = new HeldPieces(9 * MEBIBYTE);
    const full = { ...audio('other', { piece: 0 }), bytes: Buffer.alloc(7 * MEBIBYTE) };
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

describe('pieces that come days after the call', () => {
  it('are stored, unless retention has deleted its recording', async () => {
    const [kept, expired] = [await call(), await call()];
    await end(kept);
    await api.clock.advance(1_000);
    await end(expired);
    await api.clock.advance(3 * 24 * 60 * 60_000);
    await put([audio(kept, { piece: 0, pieces: 2 })]);
    const done = { recordings: new Date(api.clock.wallTime()) };
    await api.context.models.privacy.create({ _id: user.teamId, done });
    await put([audio(expired, { piece: 0, pieces: 2 })]);
    await api.context.models.privacy.deleteOne({ _id: user.teamId });
    expect([(await names(kept)).length, await names(expired)]).toEqual([1, []]);
  });

  it('are not stored once the time to keep them is over: retention may have been there already', async () => {
    const id = await call();
    await end(id);
    await api.clock.advance(3 * 24 * 60 * 60_000);
    await api.context.models.privacy.create({ _id: user.teamId, recordings_days: 3 });
    await put([audio(id, { piece: 0, pieces: 2 })]);
    await api.context.models.privacy.deleteOne({ _id: user.teamId });
    expect(await names(id)).toEqual([]);
  });
});

describe('pieces that are being stored', () => {
  const everything = () => storeSilent(api.context, Number.POSITIVE_INFINITY);

  it('stay if the database is away', async () => {
    const ids = [await call(), await call()];
    for (const id of ids) await put([audio(id, { piece: 0 })]);
    const find = () => ({ toArray: () => Promise.reject(new Error('away')) });
    const models = { sessions: { collection: { find } } } as never;
    await storeSilent({ ...api.context, models }, Number.POSITIVE_INFINITY);
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
      return { toArray: () => Promise.reject(new Error('away')) };
    };
    const models = { sessions: { collection: { find } } } as never;
    const storing = startStoringHeld({ ...api.context, models });
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
    stores.held = new HeldPieces(9 * MEBIBYTE);
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
    stores.held = new HeldPieces(9 * MEBIBYTE);
    await end(id);
    expect((await recording(id)).body.status).toBe('processing');
    stores.held = elsewhere;
    await everything();
    await api.clock.advance(60_000);
    expect((await recording(id)).body.status).toBe('complete');
  });

  it('are not awaited of a call that was never answered', async () => {
    const id = await unanswered();
    await end(id);
    expect((await recording(id)).status).toBe(404);
  });
});

describe('pieces whose worker and control plane have both died', () => {
  it('are heard once the next worker of the machine has found them on its disk', async () => {
    const id = await call();
    const [before, after] = [
      mkdtempSync(join(tmpdir(), 'parley-w1-')),
      mkdtempSync(join(tmpdir(), 'parley-w2-')),
    ];
    const parts = { clock: api.clock, logger: api.context.logger };
    const kept = new KeptPieces({ directory: before, left: { bytes: 0, retry: () => undefined }, ...parts });
    const pieces = [0, 1].map((piece) => audio(id, { piece }));
    expect((await put(pieces)).is_stored).toBe(false);
    const keeping = pieces.map((piece) => kept.keep(piece));
    await kept.close();
    expect(await Promise.all(keeping)).toEqual([true, true]);
    stores.held = new HeldPieces(9 * MEBIBYTE);
    await end(id);
    const send: UploadSender['send'] = (upload, onDone) =>
      void put([upload]).then(({ is_stored: isStored }) => onDone?.(isStored ? 'stored' : 'given_up'));
    await new LeftPieces({ directory: after, sender: { send }, ...parts }).adopt([before]);
    await api.clock.advance(5_000);
    await vi.waitFor(() => expect(readdirSync(after)).toEqual([]), { timeout: 10_000 });
    expect(await names(id)).toEqual(['user-0001-000000-…-8000-1600-2.flac']);
    expect(await heard(id)).toEqual(said(0, 1));
    rmSync(after, { recursive: true });
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

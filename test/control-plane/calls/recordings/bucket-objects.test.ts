import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { openBlobs } from '#media/blobs/blobs.ts';
import { addressAnswer, type Upload } from '#protocol/uploads.ts';
import { createPacker } from '#runtime/link/packer.ts';
import { S3_CREDENTIALS, startS3Server } from '#test/fakes/s3-server.ts';
import { memoryBlobs } from '../../test-api.ts';
import {
  api,
  audio,
  call,
  end,
  heard,
  log,
  MEBIBYTE,
  names,
  openHeldCalls,
  put,
  recording,
  said,
  stores,
  user,
} from './held-calls.ts';

openHeldCalls();

describe('an object that its worker stores in the bucket itself', () => {
  const ask = async (
    uploads: readonly Upload[],
    { token = api.context.credentials.workerToken, instanceId = 'worker-1' } = {},
  ) =>
    api.request('POST', '/internal/object-addresses', {
      headers: { authorization: `Bearer ${token}` },
      body: {
        instance_id: instanceId,
        objects: uploads.map(({ head, bytes }) => ({ head, bytes: bytes.byteLength })),
      },
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

  it('is deleted even if its worker did not report it, once anything else comes of its erased session', async () => {
    const id = await call();
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    await stores.blobs.put(`sessions/${id}/recording/user-untold`, Buffer.from('sealed'));
    await stores.blobs.put(`sessions/${id}/flight-log/untold`, Buffer.from('sealed'));
    await put([log(id, 0, 'lines')]);
    expect(await stores.blobs.list(`sessions/${id}/`)).toHaveLength(2);
    await put([log(id, 0, 'lines', false)]);
    expect(await stores.blobs.list(`sessions/${id}/`)).toEqual([]);
  });

  it('gets an address only for the worker that has the call, or had it to its end', async () => {
    const id = await call();
    const given = async (epoch: number, instanceId: string) => {
      const { body } = await ask([audio(id, { piece: 0, pieces: 3, epoch })], { instanceId });
      return body.addresses[0] !== null;
    };
    const { worker, epoch } = (await api.context.models.sessions.findById(id).lean()) ?? {};
    const own = worker?.instance_id ?? '';
    expect([epoch, await given(1, own), await given(1, 'another'), await given(2, own)]).toEqual([
      1,
      true,
      false,
      false,
    ]);
    const $set = { worker: { ...worker, instance_id: 'next' }, epoch: 2 };
    await api.context.models.sessions.updateOne({ _id: id }, { $set });
    expect([await given(1, own), await given(2, 'next')]).toEqual([false, true]);
    // The one that has the analysis.
    await api.context.models.sessions.updateOne(
      { _id: id },
      { $set: { call_worker: { instance_id: own, epoch: 1 } } },
    );
    expect([await given(1, own), await given(2, 'next')]).toEqual([true, false]);
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
    expect((await ask(whole, { token: user.key })).status).toBe(401);
  });
});

describe('an object that goes through the control plane', () => {
  it.each(['erased', 'expired'])('is deleted if its call is %s while it is stored', async (became) => {
    const id = await call();
    await end(id);
    const { put: store } = stores.blobs;
    stores.blobs.put = async (key, bytes) => {
      await store(key, bytes);
      const { models } = api.context;
      if (became === 'erased') await models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
      else {
        await api.clock.advance(10 * 60_000);
        const done = { recordings: new Date(api.clock.wallTime()) };
        await models.privacy.updateOne({ _id: user.teamId }, { $set: { done } }, { upsert: true });
      }
    };
    await put([audio(id, { piece: 0, pieces: 3 })]);
    expect(await names(id)).toEqual([]);
    await api.context.models.privacy.deleteOne({ _id: user.teamId });
  });
});

describe('objects of one request', () => {
  it('are deleted if their call is erased meanwhile, also if one of them cannot be stored', async () => {
    const id = await call();
    await end(id);
    const { put: store } = stores.blobs;
    let isFirst = true;
    stores.blobs.put = async (key, bytes) => {
      if (!isFirst) throw new Error('away');
      isFirst = false;
      await store(key, bytes);
      await api.context.models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    };
    const both = [audio(id, { piece: 0, pieces: 3 }), audio(id, { object: 3, piece: 3, pieces: 3 })];
    await expect(put(both)).rejects.toThrow();
    expect(await names(id)).toEqual([]);
  });
});

describe('a recording that a player reads in ranges', () => {
  it('is fetched and decoded once, in turns of its account', async () => {
    const id = await call();
    await put([audio(id, { piece: 0, pieces: 3 })]);
    await end(id);
    await api.clock.advance(60_000);
    const { body } = await recording(id);
    const { pathname, search } = new URL(body.tracks[0].url);
    const get = vi.spyOn(stores.blobs, 'get');
    const take = vi.spyOn(api.context.turns, 'take');
    for (const range of ['bytes=0-99', 'bytes=1000-1099', 'bytes=2000-2099']) {
      const url = `${pathname}${search}`;
      const { statusCode } = await api.app.inject({ method: 'GET', url, headers: { range } });
      expect(statusCode).toBe(206);
    }
    expect(get).toHaveBeenCalledTimes(1);
    expect(take.mock.calls.map(([userId]) => userId)).toEqual([user.userId, user.userId, user.userId]);
    take.mockRestore();
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

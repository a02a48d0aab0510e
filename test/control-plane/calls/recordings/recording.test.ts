import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseRange } from '#control-plane/calls/recordings/recording-routes.ts';
import { layOutTrack, readWav, wavBytes } from '#control-plane/calls/recordings/wav.ts';
import { type PlainHead, type Upload, uploadAnswer } from '#protocol/uploads.ts';
import { putUploads } from '../../logged-calls.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});
afterAll(() => api.close());

async function call(body: Record<string, unknown> = {}): Promise<string> {
  const created = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: agentId, ...body },
  });
  await api.report(created.body.session_id, { type: 'joined', at: api.at() });
  return created.body.session_id;
}

const end = (id: string) => api.report(id, { type: 'ended', at: api.at(), end_reason: 'user_hangup' });

/** `count` 16-bit little-endian samples of one value. */
function pcm(value: number, count: number): Buffer {
  const bytes = Buffer.alloc(count * 2);
  for (let index = 0; index < count; index++) bytes.writeInt16LE(value, index * 2);
  return bytes;
}

/**
 * Uploads pieces as a worker one version older does; `refused` if one of them is refused, or the status that
 * refuses the request.
 */
async function put(
  uploads: readonly Upload<PlainHead>[],
  token = api.context.credentials.workerToken,
): Promise<'stored' | 'refused' | number> {
  const response = await putUploads(api, uploads, { token });
  if (response.statusCode !== 200) return response.statusCode;
  return uploadAnswer.parse(response.json()).refused.length > 0 ? 'refused' : 'stored';
}

interface PutSegment {
  readonly track: string;
  readonly segment: number;
  readonly startMs: number;
  readonly bytes: Buffer;
  readonly epoch?: number;
}

function segmentOf(id: string, { track, segment, startMs, bytes, epoch = 1 }: PutSegment): Upload<PlainHead> {
  const head = {
    type: 'recording',
    session_id: id,
    epoch,
    track,
    segment,
    start_ms: api.clock.wallTime() + startMs,
    rate_hz: 8_000,
  };
  return { head: head as PlainHead, bytes };
}

const putSegment = (id: string, of: PutSegment) => put([segmentOf(id, of)]);
const chunkOf = (id: string, chunk: number, text: string): Upload<PlainHead> => ({
  head: { type: 'flight_log', session_id: id, epoch: 1, chunk },
  bytes: Buffer.from(text),
});

const recording = (id: string) => api.request('GET', `/v1/agent/sessions/${id}/recording`, { key: user.key });

async function download(url: string, range?: string) {
  const { pathname, search } = new URL(url);
  const response = await api.app.inject({
    method: 'GET',
    url: `${pathname}${search}`,
    headers: range ? { range } : {},
  });
  return { status: response.statusCode, bytes: response.rawPayload, headers: response.headers };
}

describe('a recording', () => {
  it('is processing during the call; then it has one signed address per speaker, with silent gaps', async () => {
    const id = await call();
    expect((await recording(id)).body).toMatchObject({ status: 404, message: 'Recording not found' });
    expect(await putSegment(id, { track: 'user', segment: 0, startMs: 0, bytes: pcm(1, 800) })).toBe(
      'stored',
    );
    expect(await putSegment(id, { track: 'user', segment: 1, startMs: 101, bytes: pcm(2, 800) })).toBe(
      'stored',
    );
    expect(await putSegment(id, { track: 'user', segment: 2, startMs: 1_000, bytes: pcm(3, 800) })).toBe(
      'stored',
    );
    expect(await putSegment(id, { track: 'agent', segment: 0, startMs: 50, bytes: pcm(9, 80) })).toBe(
      'stored',
    );
    expect((await recording(id)).body).toMatchObject({
      status: 'processing',
      tracks: [{ role: 'agent', status: 'active', url: null }, { role: 'user' }],
    });
    await end(id);
    const { body } = await recording(id);
    const [agent, person] = body.tracks;
    expect([body.status, agent.duration_ms, person.duration_ms, person.started_at, person.ended_at]).toEqual([
      'complete',
      10,
      1_100,
      api.at(),
      api.at(1_100),
    ]);
    expect(person.expires_at).toBe(api.at(900_000));
    expect([agent.gaps, person.gaps]).toEqual([[], [{ start_ms: 200, duration_ms: 800 }]]);
    const { status, bytes, headers } = await download(person.url);
    expect([status, headers['content-type'], bytes.length]).toEqual([200, 'audio/wav', 44 + 8_800 * 2]);
    expect([
      bytes.toString('latin1', 0, 4),
      bytes.toString('latin1', 8, 16),
      bytes.readUInt32LE(24),
      bytes.readUInt16LE(22),
      bytes.readUInt16LE(34),
      bytes.readUInt32LE(40),
    ]).toEqual(['RIFF', 'WAVEfmt ', 8_000, 1, 16, 17_600]);
    const sample = (index: number) => bytes.readInt16LE(44 + index * 2);
    expect([0, 799, 800, 1_599, 1_600, 7_999, 8_000, 8_799].map(sample)).toEqual([1, 1, 2, 2, 0, 0, 3, 3]);
  });

  it('stays processing until all announced segments have arrived or no longer can', async () => {
    const id = await call();
    const track = {
      role: 'user' as const,
      segments: 2,
      rate_hz: 8_000,
      started_at: api.at(),
      duration_ms: 200,
    };
    await api.report(id, { type: 'recording', tracks: [track] });
    await end(id);
    expect((await recording(id)).body).toMatchObject({ status: 'processing', tracks: [] });
    await putSegment(id, { track: 'user', segment: 0, startMs: 0, bytes: pcm(1, 800) });
    expect((await recording(id)).body).toMatchObject({
      status: 'processing',
      tracks: [{ role: 'user', status: 'active', url: null }],
    });
    await putSegment(id, { track: 'user', segment: 1, startMs: 100, bytes: pcm(2, 800) });
    expect((await recording(id)).body).toMatchObject({
      status: 'complete',
      tracks: [{ role: 'user', status: 'complete', duration_ms: 200 }],
    });
    // A worker that analyses the call afterwards has an epoch of its own and records nothing.
    await api.context.models.sessions.updateOne({ _id: id }, { $inc: { epoch: 1 } });
    expect((await recording(id)).body).toMatchObject({ status: 'complete' });

    const cut = await call();
    await api.report(cut, { type: 'recording', tracks: [track] });
    await end(cut);
    await putSegment(cut, { track: 'user', segment: 0, startMs: 0, bytes: pcm(1, 800) });
    await api.clock.advance(10 * 60_000 + 1);
    expect((await recording(cut)).body).toMatchObject({ status: 'complete', tracks: [{ duration_ms: 100 }] });
  });

  it('keeps the call’s clock after a failover: the dead worker’s missing audio is silence', async () => {
    const [early, late] = [await call(), await call()];
    await putSegment(late, { track: 'user', segment: 0, startMs: 3, bytes: pcm(1, 40_000) });
    await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()));
    for (const id of [early, late])
      await putSegment(id, { track: 'user', segment: 0, startMs: 8_000, bytes: pcm(2, 8_000), epoch: 2 });
    const tracks = [];
    for (const id of [early, late]) {
      await end(id);
      tracks.push((await recording(id)).body.tracks[0]);
    }
    expect(tracks).toEqual([
      expect.objectContaining({
        started_at: api.at(),
        duration_ms: 9_000,
        gaps: [{ start_ms: 0, duration_ms: 8_000 }],
      }),
      expect.objectContaining({
        started_at: api.at(3),
        duration_ms: 8_997,
        gaps: [{ start_ms: 5_000, duration_ms: 2_997 }],
      }),
    ]);
    for (const { url } of tracks) {
      const { bytes } = await download(url);
      const after = bytes.length - 44 - 8_000 * 2;
      expect([bytes.readInt16LE(44 + after - 2), bytes.readInt16LE(44 + after)]).toEqual([0, 2]);
    }
  });

  it('answers range requests as RFC 9110 requires', async () => {
    const id = await call();
    await putSegment(id, { track: 'user', segment: 0, startMs: 0, bytes: pcm(258, 100) });
    await putSegment(id, { track: 'user', segment: 1, startMs: 500, bytes: pcm(772, 100) });
    await end(id);
    const { url } = (await recording(id)).body.tracks[0];
    const whole = (await download(url)).bytes;
    for (const [range, from, to] of [
      ['bytes=0-9', 0, 10],
      ['bytes=40-50', 40, 51],
      ['bytes=240-', 240, whole.length],
      ['bytes=-7', whole.length - 7, whole.length],
      ['bytes=43-99999999', 43, whole.length],
    ] as const) {
      const part = await download(url, range);
      expect([part.status, part.headers['content-range']]).toEqual([
        206,
        `bytes ${from}-${to - 1}/${whole.length}`,
      ]);
      expect(part.bytes.equals(whole.subarray(from, to))).toBe(true);
    }
    const beyond = await download(url, 'bytes=99999999-');
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, `bytes */${whole.length}`]);
    expect(parseRange('bytes=1-2,4-5', 10)).toBeNull();
  });

  it('rejects an altered or expired address', async () => {
    const id = await call();
    await putSegment(id, { track: 'user', segment: 0, startMs: 0, bytes: pcm(1, 10) });
    await putSegment(id, { track: 'agent', segment: 0, startMs: 0, bytes: pcm(1, 10) });
    await end(id);
    const { url } = (await recording(id)).body.tracks.find(
      (track: { role: string }) => track.role === 'user',
    );
    expect((await download(url)).status).toBe(200);
    expect((await download(url.replace('user.wav', 'agent.wav'))).status).toBe(404);
    expect(
      (await download(url.replace(/expires=(\d+)/, (_: string, at: string) => `expires=${Number(at) + 1}`)))
        .status,
    ).toBe(404);
    await api.clock.advance(900_000);
    expect((await download(url)).status).toBe(404);
  });

  it('is sealed, written only by the session’s workers, and not stored at all if disabled', async () => {
    const [id, silent] = [await call(), await call({ record_audio: false })];
    expect(await putSegment(id, { track: 'user', segment: 0, startMs: 0, bytes: pcm(21_845, 100) })).toBe(
      'stored',
    );
    const names = await api.context.blobs.list(`sessions/${id}/`);
    const stored = Buffer.from((await api.context.blobs.get(names[0] ?? '')) ?? []);
    expect([names.length, stored.includes(pcm(21_845, 4))]).toEqual([1, false]);
    expect(await putSegment(silent, { track: 'user', segment: 0, startMs: 0, bytes: pcm(1, 10) })).toBe(
      'stored',
    );
    expect(await api.context.blobs.list(`sessions/${silent}/`)).toEqual([]);
    expect(await putSegment(id, { track: 'user', segment: 1, startMs: 0, bytes: pcm(1, 10), epoch: 2 })).toBe(
      'refused',
    );
    expect(await putSegment('unknown', { track: 'user', segment: 1, startMs: 0, bytes: pcm(1, 10) })).toBe(
      'refused',
    );
    expect(await putSegment(id, { track: 'nobody', segment: 1, startMs: 0, bytes: pcm(1, 10) })).toBe(400);
    expect(await put([chunkOf(id, 0, 'x')], user.key)).toBe(401);
  });

  it('can arrive in one request with those of other calls, without affecting them', async () => {
    const [first, second] = [await call(), await call()];
    const piece = { track: 'user', segment: 0, startMs: 0, bytes: pcm(1, 10) };
    const uploads = [
      segmentOf(first, piece),
      segmentOf('unknown', piece),
      chunkOf(second, 0, 'log'),
      segmentOf(second, piece),
    ];
    expect(await put(uploads)).toBe('refused');
    expect(
      await Promise.all(
        [first, second].map(async (id) => (await api.context.blobs.list(`sessions/${id}/`)).length),
      ),
    ).toEqual([1, 2]);
  });

  it('is treated as missing if it belongs to another team', async () => {
    const id = await call();
    await putSegment(id, { track: 'user', segment: 0, startMs: 0, bytes: pcm(1, 10) });
    const otherUser = await api.createUser();
    const foreign = await api.request('GET', `/v1/agent/sessions/${id}/recording`, { key: otherUser.key });
    expect([foreign.status, foreign.body.message]).toEqual([404, 'Not found']);
  });
});

describe('a flight log', () => {
  it('is stored in order and readable by its owner only', async () => {
    const id = await call();
    for (const [index, text] of [
      [1, 'two'],
      [0, 'one '],
      [10, ' ten'],
    ] as const) {
      expect(await put([chunkOf(id, index, text)])).toBe('stored');
    }
    expect(await put([chunkOf(id, 1, 'two')])).toBe('stored');
    const log = await api.request('GET', `/v1/agent/sessions/${id}/flight-log`, { key: user.key });
    expect([log.status, log.text]).toEqual([200, 'one two ten']);
    const otherUser = await api.createUser();
    expect(
      (await api.request('GET', `/v1/agent/sessions/${id}/flight-log`, { key: otherUser.key })).status,
    ).toBe(404);
    expect(
      (await api.request('GET', `/v1/agent/sessions/${await call()}/flight-log`, { key: user.key })).status,
    ).toBe(404);
  });

  it('can be replayed with other settings by a worker after the call', async () => {
    const id = await call();
    const replay = (conversation: object) =>
      api.request('POST', `/v1/agent/sessions/${id}/replay`, { key: user.key, body: { conversation } });
    await put([chunkOf(id, 0, 'the log')]);
    expect((await replay({ eagerness: 'eager' })).body).toMatchObject({
      status: 409,
      message: expect.stringContaining('still running'),
    });
    await end(id);
    expect(await replay({ eagerness: 'eager', response_max_wait_ms: null })).toMatchObject({
      status: 200,
      body: { divergence: null },
    });
    expect(api.dispatch.replays.at(-1)).toEqual({
      log: 'the log',
      settings: { eagerness: 'eager', response_max_wait_ms: null },
    });
    expect((await replay({ response_wait_ms: 1 })).status).toBe(422);
    expect((await replay({ max_duration_seconds: 60 })).status).toBe(422);
    const otherUser = await api.createUser();
    const foreign = await api.request('POST', `/v1/agent/sessions/${id}/replay`, {
      key: otherUser.key,
      body: { conversation: {} },
    });
    expect(foreign.status).toBe(404);
    const unrecorded = await call();
    await end(unrecorded);
    const nothing = await api.request('POST', `/v1/agent/sessions/${unrecorded}/replay`, {
      key: user.key,
      body: { conversation: {} },
    });
    expect(nothing.status).toBe(404);
  });
});

describe('a track layout', () => {
  it('joins segments with rounded starts, plays overlaps in order, and resamples other rates', async () => {
    const at = (index: number, startMs: number, rateHz: number, samples: number) => ({
      role: 'user' as const,
      epoch: 1,
      index,
      startMs,
      rateHz,
      samples,
      pieces: 1,
      packing: 'pcm' as const,
    });
    const layout = layOutTrack([
      at(0, 1_000, 8_000, 40_000),
      at(1, 5_998, 8_000, 40_000),
      at(2, 11_003, 16_000, 32),
    ]);
    expect(layout?.segments.map(({ startSample, samples }) => [startSample, samples])).toEqual([
      [0, 40_000],
      [40_000, 40_000],
      [80_000, 16],
    ]);
    const chunks: Buffer[] = [];
    const source = async (segment: { index: number; samples: number }) =>
      segment.index === 1 ? null : pcm(segment.index + 1, segment.samples);
    if (layout)
      for await (const chunk of readWav(layout, { from: 0, to: wavBytes(layout) }, source))
        chunks.push(chunk);
    const wav = Buffer.concat(chunks);
    expect([
      wav.length,
      wav.readInt16LE(44),
      wav.readInt16LE(44 + 80_000),
      wav.readInt16LE(44 + 160_000),
    ]).toEqual([44 + 80_016 * 2, 1, 0, 3]);
  });
});
